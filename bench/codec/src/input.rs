//! The inputs of all codecs: those of rustbgpd's published benchmarks, and UPDATEs like those of a route server's clients.

/// Path attributes as numbers, which each codec converts into its own form.
#[derive(Clone, Default)]
pub struct Values {
    pub path: Vec<Vec<u32>>,
    pub multi_exit_disc: Option<u32>,
    pub local_pref: Option<u32>,
    pub communities: Vec<u32>,
    pub extended: Vec<[u8; 8]>,
    pub large: Vec<[u32; 3]>,
    pub originator_id: Option<u32>,
    pub cluster_list: Vec<u32>,
    pub aggregator: Option<(u32, u32)>,
}

pub const NEXT_HOP: [u8; 4] = [10, 0, 0, 1];
const NEXT_HOP_6: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

impl Values {
    /// rustbgpd's `typical_attributes`: six.
    pub fn typical() -> Self {
        Values {
            path: vec![vec![65_001, 65_002, 65_003]],
            multi_exit_disc: Some(50),
            local_pref: Some(100),
            communities: vec![0xffff_0001, 0xffff_0002],
            ..Values::default()
        }
    }

    /// rustbgpd's `rich_attributes`: eleven, one with a two-octet length.
    pub fn rich() -> Self {
        Values {
            path: vec![
                vec![65_001, 65_002, 65_003, 65_004, 65_005],
                vec![65_010, 65_011],
            ],
            communities: (0..128).map(|i| 0x0001_0000 + i).collect(),
            extended: vec![0x0002_fde8_0000_0007_u64.to_be_bytes()],
            large: vec![[65_001, 7, 9]],
            originator_id: Some(0x0a00_0009),
            cluster_list: vec![0x0a00_0001, 0x0a00_0002],
            aggregator: Some((65_001, 0x0a00_0009)),
            ..Values::typical()
        }
    }

    /// Attributes like those of an exchange's members: a path of 2 to 6, MED in 30 %, up to 8 communities, large
    /// communities in 15 %.
    fn random(random: &mut Random) -> Self {
        let path = (0..2 + random.below(5)).map(|_| 1_000 + random.below(60_000));
        Values {
            path: vec![path.collect()],
            multi_exit_disc: (random.below(10) < 3).then(|| random.below(1_000)),
            communities: (0..random.below(9)).map(|_| random.next()).collect(),
            large: (0..if random.below(100) < 15 {
                1 + random.below(3)
            } else {
                0
            })
                .map(|_| [64_500, random.below(100), random.below(60_000)])
                .collect(),
            ..Values::default()
        }
    }

    /// The attributes in wire form. `reach`: with MP_REACH_NLRI of IPv6 instead of NEXT_HOP.
    pub fn encode(&self, reach: Option<&[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, 0x40, 1, &[0]);
        let segments = self.path.iter().map(|segment| {
            let mut value = vec![2, segment.len() as u8];
            value.extend(segment.iter().flat_map(|asn| asn.to_be_bytes()));
            value
        });
        put(&mut out, 0x40, 2, &segments.flatten().collect::<Vec<u8>>());
        if reach.is_none() {
            put(&mut out, 0x40, 3, &NEXT_HOP);
        }
        if let Some(med) = self.multi_exit_disc {
            put(&mut out, 0x80, 4, &med.to_be_bytes());
        }
        if let Some(local_pref) = self.local_pref {
            put(&mut out, 0x40, 5, &local_pref.to_be_bytes());
        }
        if let Some((asn, id)) = self.aggregator {
            put(&mut out, 0xc0, 7, &numbers(&[asn, id]));
        }
        put_some(&mut out, 0xc0, 8, &numbers(&self.communities));
        if let Some(id) = self.originator_id {
            put(&mut out, 0x80, 9, &id.to_be_bytes());
        }
        put_some(&mut out, 0x80, 10, &numbers(&self.cluster_list));
        if let Some(nlri) = reach {
            let value = [&[0, 2, 1, 16], &NEXT_HOP_6[..], &[0], nlri].concat();
            put(&mut out, 0x80, 14, &value);
        }
        put_some(&mut out, 0xc0, 16, &self.extended.concat());
        put_some(&mut out, 0xc0, 32, &numbers(&self.large.concat()));
        out
    }
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_be_bytes()).collect()
}

fn put_some(out: &mut Vec<u8>, flags: u8, code: u8, value: &[u8]) {
    if !value.is_empty() {
        put(out, flags, code, value);
    }
}

fn put(out: &mut Vec<u8>, flags: u8, code: u8, value: &[u8]) {
    match u8::try_from(value.len()) {
        Ok(len) => out.extend([flags, code, len]),
        Err(_) => {
            out.extend([flags | 0x10, code]);
            out.extend((value.len() as u16).to_be_bytes());
        }
    }
    out.extend(value);
}

/// rustbgpd's prefixes: 10.0.0.0/24 and on.
pub fn prefixes(count: u32) -> Vec<(u32, u8)> {
    (0..count).map(|i| (0x0a00_0000 + (i << 8), 24)).collect()
}

/// Prefixes of a real table's lengths in random order.
pub fn mixed_prefixes(count: u32, random: &mut Random) -> Vec<(u32, u8)> {
    let lengths = [
        24, 24, 24, 24, 24, 24, 22, 23, 22, 21, 20, 19, 18, 16, 23, 24,
    ];
    (0..count)
        .map(|_| {
            let len = lengths[random.below(16) as usize];
            let bits = 0x0100_0000 + random.below(0xdf00_0000 - 0x0100_0000);
            (bits & u32::MAX << (32 - len), len)
        })
        .collect()
}

/// IPv4 prefixes as NLRI.
pub fn nlri(prefixes: &[(u32, u8)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (bits, len) in prefixes {
        out.push(*len);
        out.extend(&bits.to_be_bytes()[..usize::from(len.div_ceil(8))]);
    }
    out
}

/// rustbgpd's IPv6 prefixes: /48 in 2001:db8::/32.
pub fn nlri_ipv6(count: u16) -> Vec<u8> {
    (0..count)
        .flat_map(|i| {
            let [high, low] = i.to_be_bytes();
            [48, 0x20, 1, 0x0d, 0xb8, high, low]
        })
        .collect()
}

/// A whole UPDATE, header included.
pub fn update(attributes: &[u8], nlri: &[u8]) -> Vec<u8> {
    let mut out = vec![0xff; 16];
    out.extend((23 + attributes.len() as u16 + nlri.len() as u16).to_be_bytes());
    out.extend([2, 0, 0]);
    out.extend((attributes.len() as u16).to_be_bytes());
    out.extend(attributes);
    out.extend(nlri);
    out
}

/// A thousand different UPDATEs of one to nine prefixes, five on average.
pub fn corpus() -> Vec<Vec<u8>> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    (0..1_000)
        .map(|_| {
            let attributes = Values::random(&mut random).encode(None);
            let count = 1 + random.below(9);
            update(&attributes, &nlri(&mixed_prefixes(count, &mut random)))
        })
        .collect()
}

pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    fn below(&mut self, limit: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(limit)) >> 32) as u32
    }
}
