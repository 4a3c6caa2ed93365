//! The LDS of a workgroup, with a record of who accessed each byte since the last barrier.

/// Wavefronts that can be told apart.
const MOST: u32 = 32;

#[derive(Clone, Copy, Default)]
struct Record {
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
    records: Vec<Record>,
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

impl Lds {
    pub(crate) fn new(length: u32) -> Self {
        Self {
            bytes: vec![0; length as usize],
            records: vec![Record::default(); length as usize],
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
        let other = |mask: u32| {
            let others = mask & !(1 << wave);
            (others != 0).then(|| others.trailing_zeros())
        };
        for record in self.records.get_mut(range).unwrap_or_default() {
            let write = (record.written == epoch && u32::from(record.writer) != wave)
                .then_some(u32::from(record.writer));
            let read = if record.read == epoch {
                other(record.readers)
            } else {
                None
            };
            let atomic = if record.atomic == epoch {
                other(record.atomic_writers)
            } else {
                None
            };
            seen.race_with = seen.race_with.or(match kind {
                Use::Read => write.or(atomic),
                Use::Write => write.or(read).or(atomic),
                Use::Atomic => write.or(read),
            });
            seen.uninitialized |= kind != Use::Write && record.written == 0 && record.atomic == 0;
            match kind {
                Use::Read => {
                    record.readers = if record.read == epoch {
                        record.readers
                    } else {
                        0
                    } | 1 << wave;
                    record.read = epoch;
                }
                Use::Write => (record.written, record.writer) = (epoch, wave as u8),
                Use::Atomic => {
                    record.atomic_writers = if record.atomic == epoch {
                        record.atomic_writers
                    } else {
                        0
                    } | 1 << wave;
                    record.atomic = epoch;
                }
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
