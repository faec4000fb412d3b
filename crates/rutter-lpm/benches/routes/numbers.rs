//! Go's `math/rand/v2` generator, so that both sides of the comparison draw the same routes.

/// PCG with the DXSM output function.
pub struct Pcg(u128);

const MULTIPLIER: u128 = 2549297995355413924 << 64 | 4865540595714422341;
const INCREMENT: u128 = 6364136223846793005 << 64 | 1442695040888963407;

impl Pcg {
    /// As `rand.NewPCG(high, low)`.
    pub fn new(high: u64, low: u64) -> Self {
        Pcg(u128::from(high) << 64 | u128::from(low))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let (mut high, low) = ((self.0 >> 64) as u64, self.0 as u64);
        high ^= high >> 32;
        high = high.wrapping_mul(0xda94_2042_e4dd_58b5);
        high ^= high >> 48;
        high.wrapping_mul(low | 1)
    }

    /// As `Rand.IntN`, for bounds below 2³².
    pub fn below(&mut self, bound: u32) -> u32 {
        if bound.is_power_of_two() {
            return self.next() as u32 & (bound - 1);
        }
        loop {
            let product = u128::from(self.next()) * u128::from(bound);
            let unfair = u64::from(bound).wrapping_neg() % u64::from(bound);
            if product as u64 >= unfair {
                return (product >> 64) as u32;
            }
        }
    }
}
