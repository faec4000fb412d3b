//! Encodes slowly growing numbers as differences (Parquet's DELTA_BINARY_PACKED).

use super::rle_hybrid::{pack, push_varint};

/// Appends numbers.
pub(super) fn encode(out: &mut Vec<u8>, numbers: &[i64]) {
    push_varint(out, BLOCK as u64);
    push_varint(out, (BLOCK / MINIBLOCK) as u64);
    push_varint(out, numbers.len() as u64);
    let Some((first, _)) = numbers.split_first() else {
        return push_varint(out, 0);
    };
    push_varint(out, zigzag(*first));
    let deltas = numbers.windows(2).map(|two| two[1].wrapping_sub(two[0]));
    let deltas: Vec<i64> = deltas.collect();
    deltas
        .chunks(BLOCK)
        .for_each(|block| push_block(out, block));
}

fn push_block(out: &mut Vec<u8>, block: &[i64]) {
    let least = block.iter().copied().min().unwrap_or(0);
    push_varint(out, zigzag(least));
    let above = |delta: &i64| delta.wrapping_sub(least) as u64;
    let mut widths = [0; BLOCK / MINIBLOCK];
    for (width, part) in widths.iter_mut().zip(block.chunks(MINIBLOCK)) {
        let all = part.iter().fold(0, |all, delta| all | above(delta));
        *width = (64 - all.leading_zeros()) as u8;
    }
    out.extend_from_slice(&widths);
    for (width, part) in widths.into_iter().zip(block.chunks(MINIBLOCK)) {
        let mut numbers = [0; MINIBLOCK];
        for (number, delta) in numbers.iter_mut().zip(part) {
            *number = above(delta);
        }
        if width <= 56 {
            pack(out, width, numbers);
        } else {
            pack_wide(out, width, numbers);
        }
    }
}

/// Packs numbers that are wider than [`pack`] allows, as after a change of the clock.
fn pack_wide(out: &mut Vec<u8>, width: u8, numbers: [u64; MINIBLOCK]) {
    let (mut held, mut bits) = (0u128, 0);
    for number in numbers {
        held |= u128::from(number) << bits;
        bits += width;
        while bits >= 8 {
            out.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    }
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

/// The numbers of a block, and of a part of it with its own bit width.
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;
