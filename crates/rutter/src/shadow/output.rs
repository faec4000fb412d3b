//! Standard output that outlives its reader.

use std::io::{self, Write};

/// Output whose reader may close it: the rest is dropped, so that the comparison still counts to its end.
pub(super) struct UntilClosed<W> {
    inner: W,
    is_closed: bool,
}

impl<W> UntilClosed<W> {
    /// Output to a writer.
    pub(super) fn new(inner: W) -> Self {
        UntilClosed {
            inner,
            is_closed: false,
        }
    }

    fn unless_closed<T>(&mut self, result: io::Result<T>, dropped: T) -> io::Result<T> {
        match result {
            Err(why) if why.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(dropped)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let written = self.inner.write(bytes);
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let flushed = self.inner.flush();
        self.unless_closed(flushed, ())
    }
}
