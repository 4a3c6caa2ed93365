//! The LDS of a workgroup, with a record of who accessed each byte since the last barrier.

/// Wavefronts that can be told apart.
const MOST: u32 = 32;

/// Bytes of a word.
const WORD: usize = 4;

/// Who accessed a word, or a byte of a word of which bytes were accessed alone.
#[derive(Clone, Copy, Default)]
struct Record {
    /// Position in [`Lds::parts`], plus one, if bytes of this word were accessed alone.
    parts: u32,
    /// Barriers before the last write, plus one; 0 if the byte was never written.
    written: u32,
    writer: u8,
    read: u32,
    readers: u32,
    atomic: u32,
    atomic_writers: u32,
}

/// The LDS of a workgroup.
#[derive(Clone)]
pub(crate) struct Lds {
    bytes: Vec<u8>,
    /// A record for each word.
    records: Vec<Record>,
    /// Records of the bytes of words of which bytes were accessed alone.
    parts: Vec<[Record; WORD]>,
    epoch: u32,
}

/// How bytes are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
    Atomic,
}

/// What an access found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) out_of_bounds: bool,
    pub(crate) uninitialized: bool,
    /// Another wavefront accessed a byte since the last barrier, and one of the accesses is a write.
    pub(crate) race_with: Option<u32>,
}

impl Record {
    fn access(&mut self, epoch: u32, wave: u32, kind: Use, seen: &mut Seen) {
        let other = |mask: u32| {
            let others = mask & !(1 << wave);
            (others != 0).then(|| others.trailing_zeros())
        };
        let write = (self.written == epoch && u32::from(self.writer) != wave)
            .then_some(u32::from(self.writer));
        let read = if self.read == epoch {
            other(self.readers)
        } else {
            None
        };
        let atomic = if self.atomic == epoch {
            other(self.atomic_writers)
        } else {
            None
        };
        seen.race_with = seen.race_with.or(match kind {
            Use::Read => write.or(atomic),
            Use::Write => write.or(read).or(atomic),
            Use::Atomic => write.or(read),
        });
        seen.uninitialized |= kind != Use::Write && self.written == 0 && self.atomic == 0;
        match kind {
            Use::Read => {
                self.readers = if self.read == epoch { self.readers } else { 0 } | 1 << wave;
                self.read = epoch;
            }
            Use::Write => (self.written, self.writer) = (epoch, wave as u8),
            Use::Atomic => {
                self.atomic_writers = if self.atomic == epoch {
                    self.atomic_writers
                } else {
                    0
                } | 1 << wave;
                self.atomic = epoch;
            }
        }
    }
}

impl Lds {
    pub(crate) fn new(length: u32) -> Self {
        Self {
            bytes: vec![0; length as usize],
            records: vec![Record::default(); (length as usize).div_ceil(WORD)],
            parts: Vec::new(),
            epoch: 1,
        }
    }

    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Every wavefront reached a barrier.
    pub(crate) fn barrier(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
    }

    fn range(&self, address: u32, count: usize) -> Option<std::ops::Range<usize>> {
        let start = address as usize;
        let end = start.checked_add(count)?;
        (end <= self.bytes.len()).then_some(start..end)
    }

    fn record(&mut self, range: std::ops::Range<usize>, wave: u32, kind: Use) -> Seen {
        let (epoch, wave) = (self.epoch, wave % MOST);
        let mut seen = Seen::default();
        for word in range.start / WORD..range.end.div_ceil(WORD) {
            let Some(record) = self.records.get_mut(word) else {
                continue;
            };
            let first = (word * WORD).max(range.start);
            let last = (word * WORD + WORD).min(range.end);
            if record.parts == 0 && last - first == WORD {
                record.access(epoch, wave, kind, &mut seen);
                continue;
            }
            if record.parts == 0 {
                self.parts.push([*record; WORD]);
                record.parts = self.parts.len() as u32;
            }
            let parts = self.parts.get_mut(record.parts as usize - 1);
            for record in parts
                .into_iter()
                .flat_map(|parts| &mut parts[first % WORD..][..last - first])
            {
                record.access(epoch, wave, kind, &mut seen);
            }
        }
        seen
    }

    /// Reads bytes; zeros if they are out of bounds.
    pub(crate) fn read(&mut self, address: u32, bytes: &mut [u8], wave: u32) -> Seen {
        let Some(range) = self.range(address, bytes.len()) else {
            bytes.fill(0);
            return Seen {
                out_of_bounds: true,
                ..Seen::default()
            };
        };
        bytes.copy_from_slice(&self.bytes[range.clone()]);
        self.record(range, wave, Use::Read)
    }

    /// Writes bytes, unless they are out of bounds.
    pub(crate) fn write(&mut self, address: u32, bytes: &[u8], wave: u32) -> Seen {
        let Some(range) = self.range(address, bytes.len()) else {
            return Seen {
                out_of_bounds: true,
                ..Seen::default()
            };
        };
        self.bytes[range.clone()].copy_from_slice(bytes);
        self.record(range, wave, Use::Write)
    }

    /// Replaces bytes by a function of them, and returns the old value.
    pub(crate) fn update(
        &mut self,
        address: u32,
        count: usize,
        wave: u32,
        f: impl FnOnce(u64) -> u64,
    ) -> (u64, Seen) {
        let Some(range) = self.range(address, count) else {
            return (
                0,
                Seen {
                    out_of_bounds: true,
                    ..Seen::default()
                },
            );
        };
        let old = self.bytes[range.clone()]
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte));
        for (byte, new) in self.bytes[range.clone()]
            .iter_mut()
            .zip(f(old).to_le_bytes())
        {
            *byte = new;
        }
        (old, self.record(range, wave, Use::Atomic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_and_read_by_two_wavefronts_is_a_race_until_a_barrier() {
        let mut lds = Lds::new(64);
        assert_eq!(lds.write(0, &[1; 4], 0).race_with, None);
        assert_eq!(lds.read(0, &mut [0; 4], 0).race_with, None);
        assert_eq!(lds.read(2, &mut [0; 4], 1).race_with, Some(0));
        lds.barrier();
        assert_eq!(lds.read(0, &mut [0; 4], 1).race_with, None);
        assert_eq!(lds.write(3, &[1; 1], 0).race_with, Some(1));
    }

    #[test]
    fn bytes_of_a_word_are_separate() {
        let mut lds = Lds::new(6);
        lds.write(0, &[1; 2], 0);
        assert_eq!(lds.write(2, &[1; 2], 1).race_with, None);
        assert_eq!(lds.read(0, &mut [0; 2], 0).race_with, None);
        assert!(!lds.read(0, &mut [0; 4], 1).uninitialized);
        assert_eq!(lds.read(0, &mut [0; 4], 2).race_with, Some(0));
        assert!(lds.read(4, &mut [0; 2], 0).uninitialized);
    }

    #[test]
    fn atomics_race_only_with_plain_accesses() {
        let mut lds = Lds::new(64);
        lds.write(0, &[0; 8], 0);
        lds.barrier();
        for wave in 0..4 {
            let (old, seen) = lds.update(0, 4, wave, |old| old + 1);
            assert_eq!((old, seen.race_with), (u64::from(wave), None));
        }
        assert_eq!(lds.read(0, &mut [0; 4], 0).race_with, Some(1));
    }

    #[test]
    fn unwritten_and_outside_bytes_are_noticed() {
        let mut lds = Lds::new(8);
        assert!(lds.read(4, &mut [0; 4], 0).uninitialized);
        assert!(lds.read(5, &mut [0; 4], 0).out_of_bounds);
        assert!(lds.write(u32::MAX, &[0; 4], 0).out_of_bounds);
    }
}
