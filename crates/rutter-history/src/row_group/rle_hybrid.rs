//! Encodes numbers of few bits as runs of equal numbers or as groups of eight (Parquet's RLE/bit-packing
//! hybrid).

/// A number, and how many consecutive rows have it.
pub(crate) type Run = (u32, u32);

/// Adds to the last run if it has the same number.
pub(crate) fn push(runs: &mut Vec<Run>, number: u32, count: u32) {
    match runs.last_mut() {
        Some((last, rows)) if *last == number => *rows += count,
        _ => runs.push((number, count)),
    }
}

/// Appends the numbers with `width` bits each. Runs are whole bytes. For consecutive rows of one update, short
/// runs cost less than groups, and the compression finds them again.
pub(super) fn encode(out: &mut Vec<u8>, width: u8, runs: &[Run]) {
    let value = u64::from(width.div_ceil(8));
    let (mut as_runs, mut bits) = (0, 0);
    for (_, count) in runs {
        as_runs += 1 + u64::from(*count >= 64) + value;
        bits += u64::from(*count) * u64::from(width);
    }
    if as_runs <= bits.div_ceil(8) || width == 0 {
        runs.iter().for_each(|run| push_run(out, width, *run));
    } else {
        Groups::new(out, width).encode(runs);
    }
}

fn push_run(out: &mut Vec<u8>, width: u8, (number, count): Run) {
    push_varint(out, u64::from(count) << 1);
    let bytes = usize::from(width.div_ceil(8));
    out.extend_from_slice(&number.to_le_bytes()[..bytes]);
}

/// Appends a number with seven bits per byte, the lowest first.
pub(super) fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Groups of eight, with runs for long repetitions.
struct Groups<'o> {
    out: &'o mut Vec<u8>,
    width: u8,
    group: [u32; 8],
    filled: usize,
    /// The offset of the header of the current groups, and their number.
    head: Option<(usize, u8)>,
}

impl<'o> Groups<'o> {
    fn new(out: &'o mut Vec<u8>, width: u8) -> Self {
        Self {
            out,
            width,
            group: [0; 8],
            filled: 0,
            head: None,
        }
    }

    fn encode(mut self, runs: &[Run]) {
        for &(number, mut count) in runs {
            while count > 0 {
                if self.filled == 0 && count >= LONG {
                    self.head = None;
                    push_run(self.out, self.width, (number, count));
                    break;
                }
                self.group[self.filled] = number;
                self.filled += 1;
                count -= 1;
                if self.filled == 8 {
                    self.end_group();
                }
            }
        }
        if self.filled > 0 {
            // The reader knows the number of rows.
            self.group[self.filled..].fill(0);
            self.end_group();
        }
    }

    fn end_group(&mut self) {
        let (head, groups) = match self.head {
            Some((head, groups)) if groups < MOST_GROUPS => (head, groups + 1),
            _ => {
                self.out.push(0);
                (self.out.len() - 1, 1)
            }
        };
        self.out[head] = groups << 1 | 1;
        self.head = Some((head, groups));
        pack(self.out, self.width, self.group.map(u64::from));
        self.filled = 0;
    }
}

/// Appends numbers of `width` bits, up to 56. Their bits together are whole bytes.
pub(super) fn pack<const N: usize>(out: &mut Vec<u8>, width: u8, numbers: [u64; N]) {
    let (mut held, mut bits) = (0u64, 0);
    for number in numbers {
        held |= number << bits;
        bits += width;
        while bits >= 8 {
            out.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    }
}

/// From this length on, a run is shorter than a group.
const LONG: u32 = 8;
/// The largest number of groups whose header fits into a byte.
const MOST_GROUPS: u8 = 63;
