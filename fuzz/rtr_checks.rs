//! The promises of the RTR client for arbitrary bytes. Shared by the fuzz target and the corpus test of the stable
//! toolchain.

use std::time::{Duration, Instant};

use rutter_sources::rtr::{Frame, RtrClient, RtrClientSettings, RtrInput, RtrLimits, RtrOutput};

/// A whole life of a client. The first byte chooses the settings. Then each chunk has a byte that chooses an event, and
/// for received bytes a length.
pub fn rtr(data: &[u8]) {
    let Some((&choice, mut rest)) = data.split_first() else {
        return;
    };
    pdus(rest);
    let limits = RtrLimits {
        max_records: 40,
        ..RtrLimits::default()
    };
    let settings = RtrClientSettings {
        aspa: choice & 1 != 0,
        limits,
        ..RtrClientSettings::default()
    };
    let mut now = Instant::now();
    let mut client = RtrClient::new(settings, now);
    let mut is_open = false;
    step(&mut client, &mut is_open, now, RtrInput::Timer);
    while let Some((&event, after)) = rest.split_first() {
        rest = after;
        match event {
            0xff => step(&mut client, &mut is_open, now, RtrInput::Refresh),
            0xfe => {
                is_open = false;
                step(&mut client, &mut is_open, now, RtrInput::Closed(None));
            }
            0xfd => {
                now = client
                    .next_deadline()
                    .map_or(now, |deadline| deadline.max(now));
                step(&mut client, &mut is_open, now, RtrInput::Timer);
            }
            len => {
                let (bytes, after) = rest.split_at(usize::from(len).min(rest.len()));
                rest = after;
                now += Duration::from_millis(len.into());
                step(&mut client, &mut is_open, now, RtrInput::Received(bytes));
            }
        }
    }
}

/// Handles an event and all outputs. Every connection succeeds.
fn step(client: &mut RtrClient, is_open: &mut bool, now: Instant, input: RtrInput<'_>) {
    client.handle(now, input);
    while let Some(output) = client.poll_output() {
        client.check_invariants();
        match output {
            RtrOutput::Connect => {
                assert!(!*is_open, "a second connection");
                *is_open = true;
                client.handle(now, RtrInput::Connected);
            }
            RtrOutput::Disconnect => {
                assert!(*is_open, "no connection to close");
                *is_open = false;
            }
            RtrOutput::Send(bytes) => {
                let frame = Frame::next(&bytes)
                    .expect("a valid PDU")
                    .expect("a whole PDU");
                assert_eq!(frame.wire.len(), bytes.len());
                frame.decode().expect("a valid PDU");
            }
            RtrOutput::Data { .. } => assert!(client.data().is_some()),
            RtrOutput::Fault(fault) => assert!(!fault.to_string().is_empty()),
        }
    }
    client.check_invariants();
    let deadline = client
        .next_deadline()
        .expect("the client always waits for something");
    assert!(deadline >= now || !*is_open, "a deadline is over");
}

/// PDUs that can be decoded can be written, and are then the same.
fn pdus(mut data: &[u8]) {
    while let Ok(Some(frame)) = Frame::next(data) {
        if let Ok(pdu) = frame.decode() {
            let mut wire = Vec::new();
            pdu.write(frame.version, &mut wire);
            let again = Frame::next(&wire)
                .expect("a valid PDU")
                .expect("a whole PDU");
            assert_eq!(again.decode(), Ok(pdu));
        }
        data = &data[frame.wire.len()..];
    }
}
