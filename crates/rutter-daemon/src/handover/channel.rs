//! The connection between the two processes: records with their lengths, and sockets.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The kind of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    /// The old process: its version and its clock, before the listening sockets. The new process: it is prepared.
    Hello = 1,
    /// One neighbor with its session, and its socket.
    Neighbor,
    /// Part of the table.
    Table,
    /// The new process has everything.
    Ready,
    /// The new process goes on.
    Go,
    /// The new process cannot take over, and why.
    Failed,
    /// The neighbors that have a place in the table, before its first part.
    InTable,
    /// The end of a stage of the table. The new process: it has read it.
    Staged,
    /// The old process holds still: the last stage follows.
    Held,
    /// The peers of monitored routers and files in the table of a collector.
    Monitored,
    /// A part of a collector's service, and its sockets.
    Service,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::Hello,
        Kind::Neighbor,
        Kind::Table,
        Kind::Ready,
        Kind::Go,
        Kind::Failed,
        Kind::InTable,
        Kind::Staged,
        Kind::Held,
        Kind::Monitored,
        Kind::Service,
    ];
}

/// One end of the connection.
pub(super) struct Channel {
    stream: UnixStream,
}

/// A longer record is none of ours.
const MAX_LEN: usize = 1 << 30;
/// The sockets in one message; the kernel accepts 253.
const SOCKETS_AT_ONCE: usize = 64;

impl Channel {
    pub(super) fn new(stream: UnixStream) -> Self {
        Channel { stream }
    }

    /// Limits the wait for each read and each write.
    pub(super) fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(timeout))?;
        self.stream.set_write_timeout(Some(timeout))
    }

    /// Sends a record.
    pub(super) fn send(&mut self, kind: Kind, record: &[u8]) -> io::Result<()> {
        let mut header = [kind as u8; 5];
        header[1..].copy_from_slice(&(record.len() as u32).to_be_bytes());
        self.stream.write_all(&header)?;
        self.stream.write_all(record)
    }

    /// Receives a record into `record`.
    pub(super) fn receive(&mut self, record: &mut Vec<u8>) -> io::Result<Kind> {
        let mut header = [0; 5];
        self.stream.read_exact(&mut header)?;
        let kind = Kind::ALL.into_iter().find(|k| *k as u8 == header[0]);
        let kind = kind.ok_or_else(|| io::Error::other("unknown kind of record"))?;
        let [_, len @ ..] = header;
        let len = u32::from_be_bytes(len) as usize;
        if len > MAX_LEN {
            return Err(io::Error::other("a record is too long"));
        }
        record.resize(len, 0);
        self.stream.read_exact(record)?;
        Ok(kind)
    }

    /// Receives a record of a kind. Of another process's failure it returns the text.
    pub(super) fn expect(&mut self, kind: Kind, record: &mut Vec<u8>) -> Result<(), String> {
        match self.receive(record) {
            Ok(received) if received == kind => Ok(()),
            Ok(Kind::Failed) => Err(String::from_utf8_lossy(record).into_owned()),
            Ok(other) => Err(format!("it sent {other:?} in place of {kind:?}")),
            Err(error) => Err(describe(&error)),
        }
    }

    /// Sends sockets. They stay open here.
    pub(super) fn send_sockets(&mut self, sockets: &[BorrowedFd<'_>]) -> io::Result<()> {
        for sockets in sockets.chunks(SOCKETS_AT_ONCE) {
            let mut space =
                [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_AT_ONCE))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !ancillary.push(SendAncillaryMessage::ScmRights(sockets)) {
                return Err(io::Error::other("too many sockets in a message"));
            }
            let byte = [IoSlice::new(&[0])];
            sendmsg(&self.stream, &byte, &mut ancillary, SendFlags::empty())?;
        }
        Ok(())
    }

    /// Receives so many sockets.
    pub(super) fn receive_sockets(&mut self, count: usize) -> io::Result<Vec<OwnedFd>> {
        let mut sockets = Vec::new();
        while sockets.len() < count {
            let mut space =
                [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_AT_ONCE))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let mut byte = [0];
            let flags = RecvFlags::CMSG_CLOEXEC;
            let received = recvmsg(
                &self.stream,
                &mut [IoSliceMut::new(&mut byte)],
                &mut ancillary,
                flags,
            )?;
            let before = sockets.len();
            for message in ancillary.drain() {
                if let RecvAncillaryMessage::ScmRights(files) = message {
                    sockets.extend(files);
                }
            }
            let wanted = SOCKETS_AT_ONCE.min(count - before);
            if received.bytes == 0 || sockets.len() - before != wanted {
                return Err(io::Error::other(
                    "sockets are missing: the limit of open files may be too low",
                ));
            }
        }
        Ok(sockets)
    }

    /// Waits for the end of the other process.
    pub(super) fn wait_for_end(&mut self) {
        let mut byte = [0];
        while matches!(self.stream.read(&mut byte), Ok(1..)) {}
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// What an error of the connection says about the other process.
pub(super) fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => "it ended; its messages are in the log".to_owned(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "it did not answer in time".to_owned()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    fn pair() -> (Channel, Channel) {
        let (a, b) = UnixStream::pair().expect("a pair");
        (Channel::new(a), Channel::new(b))
    }

    #[test]
    fn records_and_sockets_keep_their_order() {
        let (mut old, mut new) = pair();
        let sockets: Vec<UnixStream> = (0..130)
            .map(|_| UnixStream::pair().expect("a pair").0)
            .collect();
        let borrowed: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
        old.send(Kind::Neighbor, b"one").expect("send");
        old.send_sockets(&borrowed).expect("send");
        old.send(Kind::Go, b"").expect("send");
        let mut record = Vec::new();
        assert_eq!(new.receive(&mut record).expect("receive"), Kind::Neighbor);
        assert_eq!(record, b"one");
        let received = new.receive_sockets(130).expect("receive");
        let own: Vec<i32> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
        assert!(received.iter().all(|fd| !own.contains(&fd.as_raw_fd())));
        assert_eq!(new.expect(Kind::Go, &mut record), Ok(()));
    }

    #[test]
    fn a_failure_and_an_end_are_told_apart() {
        let (mut old, mut new) = pair();
        new.send(Kind::Failed, b"no such version").expect("send");
        drop(new);
        let mut record = Vec::new();
        let failed = old.expect(Kind::Hello, &mut record);
        assert_eq!(failed, Err("no such version".to_owned()));
        let ended = old.expect(Kind::Hello, &mut record);
        assert!(ended.expect_err("an end").starts_with("it ended"));
    }
}
