//! Mutations of the corpus, for runs that no coverage guides.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::corpus::Seed;

/// Largest input, in bytes.
const LENGTH_MAX: usize = 4_096;
/// Numbers at the edges of types and of limits.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "1",
    "99",
    "65536",
    "2147483647",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "1e308",
    "0.1",
];

/// Makes inputs from those of a corpus. The same seed gives the same inputs.
pub(crate) struct Mutator {
    seeds: Vec<Seed>,
    words: Vec<Vec<u8>>,
    draws: StdRng,
}

impl Mutator {
    pub(crate) fn new(seeds: Vec<Seed>, words: Vec<Vec<u8>>, seed: u64) -> Self {
        Self { seeds, words, draws: StdRng::seed_from_u64(seed) }
    }

    /// Returns the next input: an input of the corpus after a few changes.
    pub(crate) fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.any_seed();
        for _ in 0..self.draws.random_range(1..=6) {
            self.change(&mut input);
            input.truncate(LENGTH_MAX);
        }
        input
    }

    fn any_seed(&mut self) -> Vec<u8> {
        let place = self.draws.random_range(0..self.seeds.len());
        self.seeds[place].bytes.clone()
    }

    /// A range of an input, most often a short one.
    fn range(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let start = self.draws.random_range(0..=input.len());
        let most = if self.draws.random_bool(0.8) { 16 } else { input.len() };
        let end = (start + self.draws.random_range(0..=most)).min(input.len());
        start..end
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let range = self.range(input);
        match self.draws.random_range(0..9) {
            0 if !input.is_empty() => {
                let place = self.draws.random_range(0..input.len());
                input[place] ^= 1 << self.draws.random_range(0..8);
            }
            1 if !input.is_empty() => {
                let place = self.draws.random_range(0..input.len());
                input[place] = self.draws.random();
            }
            2 => drop(input.drain(range)),
            3 => {
                let again = input[range.clone()].repeat(self.draws.random_range(1..20));
                input.splice(range.end..range.end, again);
            }
            4 => {
                let place = self.draws.random_range(0..self.words.len());
                let word = self.words[place].clone();
                input.splice(range, word);
            }
            5 => {
                let number = NUMBERS[self.draws.random_range(0..NUMBERS.len())];
                let digits = digits_in(input, range.start);
                input.splice(digits, number.bytes());
            }
            6 => {
                let other = self.any_seed();
                let part = self.range(&other);
                input.splice(range, other[part].iter().copied());
            }
            7 => {
                let length = self.draws.random_range(1..9);
                let random: Vec<u8> = (0..length).map(|_| self.draws.random()).collect();
                input.splice(range, random);
            }
            _ => input.truncate(range.end),
        }
    }
}

/// Returns the range of the first number at or after a place; an empty one without any.
fn digits_in(input: &[u8], from: usize) -> std::ops::Range<usize> {
    let Some(start) = input[from..].iter().position(u8::is_ascii_digit) else { return from..from };
    let start = from + start;
    let length = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    start..start + length
}
