//! A client on a virtual clock, whose cache is the test.

use std::time::{Duration, Instant};

use rutter_sources::rtr::{
    Frame, Pdu, RtrClient, RtrClientSettings, RtrFault, RtrInput, RtrIntervals, RtrOutput,
    VrpRecord,
};

/// A client, its time, and its reports so far.
pub struct Script {
    pub client: RtrClient,
    pub now: Instant,
    /// The PDUs that the client sent, in words, since the last [`Script::sent`].
    sent: Vec<String>,
    /// The changes of data since the last [`Script::updates`].
    updates: Vec<bool>,
    pub faults: Vec<RtrFault>,
    pub connected: bool,
    /// The version of the PDUs that the cache sends.
    pub version: u8,
}

impl Script {
    /// A client that has connected and sent its first query.
    pub fn connected(settings: RtrClientSettings, version: u8) -> Self {
        let now = Instant::now();
        let mut script = Script {
            client: RtrClient::new(settings, now),
            now,
            sent: Vec::new(),
            updates: Vec::new(),
            faults: Vec::new(),
            connected: false,
            version,
        };
        script.connect();
        script
    }

    /// Waits for the client's next attempt, and lets it succeed. Returns the time until then.
    pub fn connect(&mut self) -> Duration {
        let start = self.now;
        assert!(!self.connected, "the client is connected");
        while !self.connected {
            self.advance_to_deadline();
        }
        self.now - start
    }

    pub fn advance_to_deadline(&mut self) {
        self.now = self
            .client
            .next_deadline()
            .expect("a deadline")
            .max(self.now);
        self.input(RtrInput::Timer);
    }

    pub fn advance(&mut self, time: Duration) {
        let end = self.now + time;
        while self
            .client
            .next_deadline()
            .is_some_and(|deadline| deadline <= end)
        {
            self.advance_to_deadline();
        }
        self.now = end;
    }

    pub fn input(&mut self, input: RtrInput<'_>) {
        self.client.handle(self.now, input);
        self.client.check_invariants();
        while let Some(output) = self.client.poll_output() {
            match output {
                RtrOutput::Connect => {
                    self.connected = true;
                    self.client.handle(self.now, RtrInput::Connected);
                }
                RtrOutput::Send(bytes) => self.sent.push(words(&bytes)),
                RtrOutput::Disconnect => self.connected = false,
                RtrOutput::Data { changed } => self.updates.push(changed),
                RtrOutput::Fault(fault) => self.faults.push(fault),
            }
        }
    }

    /// The cache sends PDUs.
    pub fn receive(&mut self, pdus: &[Pdu<'_>]) {
        let mut bytes = Vec::new();
        pdus.iter()
            .for_each(|pdu| pdu.write(self.version, &mut bytes));
        self.input(RtrInput::Received(&bytes));
    }

    /// The cache closes the connection.
    pub fn close(&mut self) {
        self.connected = false;
        self.input(RtrInput::Closed(None));
    }

    /// The cache answers a query with VRPs (`+` or `-` before them) and End of Data.
    pub fn answer(&mut self, session: u16, serial: u32, vrps: &[&str]) {
        let mut pdus = vec![Pdu::CacheResponse { session }];
        pdus.extend(vrps.iter().map(|text| vrp(text)));
        pdus.push(end_of_data(session, serial));
        self.receive(&pdus);
    }

    /// The PDUs that the client sent since the last call.
    pub fn sent(&mut self) -> Vec<String> {
        std::mem::take(&mut self.sent)
    }

    /// For each complete answer since the last call: whether it changed the records.
    pub fn updates(&mut self) -> Vec<bool> {
        std::mem::take(&mut self.updates)
    }

    /// The VRPs of the last complete answer.
    pub fn vrps(&self) -> Vec<String> {
        let data = self.client.data();
        data.map_or_else(Vec::new, |data| {
            data.records.vrps().map(|vrp| vrp.to_string()).collect()
        })
    }

    /// The last fault's text, which the test expects to be the only one.
    pub fn only_fault(&mut self) -> String {
        assert_eq!(self.faults.len(), 1, "{:?}", self.faults);
        self.faults.remove(0).to_string()
    }
}

/// `+192.0.2.0/24-24 AS64500` as a PDU.
pub fn vrp(text: &str) -> Pdu<'static> {
    let (announce, text) = (text.starts_with('+'), &text[1..]);
    let (prefix, rest) = text.split_once('-').expect("a maximum length");
    let (max_len, asn) = rest.split_once(" AS").expect("an AS");
    let prefix = prefix.parse().expect("a prefix");
    let max_len = max_len.parse().expect("a length");
    let asn = asn.parse().expect("a number");
    let vrp = VrpRecord::new(prefix, max_len, asn).expect("lengths in range");
    Pdu::Vrp { announce, vrp }
}

/// With the default intervals.
pub fn end_of_data(session: u16, serial: u32) -> Pdu<'static> {
    let intervals = Some(RtrIntervals::default());
    Pdu::EndOfData {
        session,
        serial,
        intervals,
    }
}

/// A sent PDU in words.
fn words(bytes: &[u8]) -> String {
    let frame = Frame::next(bytes)
        .expect("a valid PDU")
        .expect("a complete PDU");
    assert_eq!(frame.wire.len(), bytes.len(), "one PDU is sent at a time");
    let version = frame.version;
    match frame.decode().expect("a valid PDU") {
        Pdu::ResetQuery => format!("v{version} reset query"),
        Pdu::SerialQuery { session, serial } => {
            format!("v{version} serial query {session} {serial}")
        }
        Pdu::ErrorReport { code, .. } => format!("v{version} error {}", code.0),
        other => panic!("a router does not send {other:?}"),
    }
}
