//! Global memory: buffers with gaps between them, in which every address is out of bounds.
//!
//! The contents are pages that exist once they are written, so that a buffer of several GiB costs only what a kernel
//! touches.

/// Bytes of a page.
const PAGE: usize = 4096;

/// Distance between the addresses of two buffers.
const SPACING_BITS: u32 = 36;

/// Largest buffer, in bytes. The rest of the spacing is the gap.
const LARGEST: u64 = 1 << (SPACING_BITS - 1);

/// Most buffers: their addresses must fit into 47 bits.
const MOST: usize = (1 << (47 - SPACING_BITS)) - 1;

#[derive(Clone)]
struct Page {
    bytes: [u8; PAGE],
    /// A bit for each byte that was written.
    written: [u64; PAGE / 64],
}

#[derive(Clone)]
struct Buffer {
    name: String,
    length: u64,
    pages: Vec<Option<Box<Page>>>,
    /// Whether bytes without a page were written (with zeros).
    zeroed: bool,
}

/// The memory of a GPU.
#[derive(Clone, Default)]
pub struct Memory {
    buffers: Vec<Buffer>,
}

/// Result of reading memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Written,
    /// Some bytes were never written.
    Uninitialized,
    OutOfBounds,
}

impl Memory {
    /// Memory without buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a buffer with contents, and returns its address. `None` if it is too large, or if there are too many.
    pub fn add(&mut self, name: &str, contents: &[u8]) -> Option<u64> {
        let address = self.add_buffer(name, contents.len() as u64, false)?;
        self.write(address, contents).then_some(address)
    }

    /// Adds a buffer whose bytes count as never written, and returns its address.
    pub fn add_uninitialized(&mut self, name: &str, length: u64) -> Option<u64> {
        self.add_buffer(name, length, false)
    }

    /// Adds a buffer of zeros, and returns its address.
    pub fn add_zeroed(&mut self, name: &str, length: u64) -> Option<u64> {
        self.add_buffer(name, length, true)
    }

    fn add_buffer(&mut self, name: &str, length: u64, zeroed: bool) -> Option<u64> {
        if length > LARGEST || self.buffers.len() >= MOST {
            return None;
        }
        let pages = usize::try_from(length.div_ceil(PAGE as u64)).ok()?;
        let pages = std::iter::repeat_with(|| None).take(pages).collect();
        self.buffers.push(Buffer {
            name: name.to_owned(),
            length,
            pages,
            zeroed,
        });
        Some((self.buffers.len() as u64) << SPACING_BITS)
    }

    /// Copies bytes out of a buffer; bytes that were never written are zero. `None` if the range is out of bounds.
    #[must_use]
    pub fn contents(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.locate(address, length)?;
        let mut bytes = vec![0; length];
        self.read(address, &mut bytes);
        Some(bytes)
    }

    /// The position of the buffer that an address is nearest to, in the order of [`Self::add`], and the bytes from its start.
    /// `None` if there is no such buffer.
    #[must_use]
    pub fn nearest(&self, address: u64) -> Option<(usize, i64)> {
        let from = address.wrapping_add(1 << (SPACING_BITS - 1));
        let index = usize::try_from(from >> SPACING_BITS).ok()?.checked_sub(1)?;
        let start = (index as u64 + 1) << SPACING_BITS;
        (index < self.buffers.len()).then(|| (index, address.wrapping_sub(start) as i64))
    }

    fn locate(&self, address: u64, length: usize) -> Option<(usize, usize)> {
        let index = usize::try_from(address >> SPACING_BITS)
            .ok()?
            .checked_sub(1)?;
        let buffer = self.buffers.get(index)?;
        let offset = address & ((1 << SPACING_BITS) - 1);
        (offset + length as u64 <= buffer.length).then_some((index, offset as usize))
    }

    /// Reads bytes. What cannot be read is zero.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Read {
        let Some((index, mut offset)) = self.locate(address, bytes.len()) else {
            bytes.fill(0);
            return Read::OutOfBounds;
        };
        let Some(buffer) = self.buffers.get(index) else {
            return Read::OutOfBounds;
        };
        let (mut rest, mut written) = (bytes, true);
        while !rest.is_empty() {
            let start = offset % PAGE;
            let count = rest.len().min(PAGE - start);
            let (part, tail) = rest.split_at_mut(count);
            match buffer.pages.get(offset / PAGE) {
                Some(Some(page)) => {
                    part.copy_from_slice(&page.bytes[start..start + count]);
                    written &= page.is_written(start, count);
                }
                _ => {
                    part.fill(0);
                    written &= buffer.zeroed;
                }
            }
            (rest, offset) = (tail, offset + count);
        }
        if written {
            Read::Written
        } else {
            Read::Uninitialized
        }
    }

    /// Writes bytes, or nothing if a part of them is out of bounds.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let Some((index, mut offset)) = self.locate(address, bytes.len()) else {
            return false;
        };
        let Some(buffer) = self.buffers.get_mut(index) else {
            return false;
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let start = offset % PAGE;
            let count = rest.len().min(PAGE - start);
            let (part, tail) = rest.split_at(count);
            let fill = if buffer.zeroed { u64::MAX } else { 0 };
            if let Some(page) = buffer.pages.get_mut(offset / PAGE) {
                let page = page.get_or_insert_with(|| {
                    Box::new(Page {
                        bytes: [0; PAGE],
                        written: [fill; PAGE / 64],
                    })
                });
                page.bytes[start..start + count].copy_from_slice(part);
                page.mark(start, count);
            }
            (rest, offset) = (tail, offset + count);
        }
        true
    }

    /// Describes an address relative to the nearest buffer.
    pub(crate) fn describe(&self, address: u64) -> String {
        let slot = address >> SPACING_BITS;
        let offset = address & ((1 << SPACING_BITS) - 1);
        // An address in the upper half of the spacing is before the next buffer.
        let after = slot
            .checked_sub(1)
            .and_then(|index| self.buffers.get(usize::try_from(index).ok()?));
        let before = self
            .buffers
            .get(usize::try_from(slot).unwrap_or(usize::MAX));
        match (after, before) {
            (Some(buffer), _) if offset < LARGEST && offset >= buffer.length => {
                format!(
                    "{} bytes past the end of {}, which has {} bytes",
                    offset - buffer.length,
                    buffer.name,
                    buffer.length
                )
            }
            (Some(buffer), _) if offset < LARGEST => {
                format!(
                    "at byte {offset} of {}, which has {} bytes",
                    buffer.name, buffer.length
                )
            }
            (_, Some(buffer)) => format!(
                "{} bytes before the start of {}",
                (1 << SPACING_BITS) - offset,
                buffer.name
            ),
            _ => format!("at address {address:#x}, where no buffer is"),
        }
    }
}

impl Page {
    fn is_written(&self, start: usize, count: usize) -> bool {
        let (word, bit) = (start / 64, start % 64);
        if bit + count <= 64 {
            let mask = if count == 64 {
                u64::MAX
            } else {
                ((1 << count) - 1) << bit
            };
            return self.written[word] & mask == mask;
        }
        (start..start + count).all(|at| self.written[at / 64] >> (at % 64) & 1 == 1)
    }

    fn mark(&mut self, start: usize, count: usize) {
        for at in start..start + count {
            self.written[at / 64] |= 1 << (at % 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_bounds() {
        let mut memory = Memory::new();
        let first = memory.add("x", &[1, 2, 3, 4]).expect("small");
        let second = memory.add_uninitialized("y", 8).expect("small");
        let mut bytes = [0; 4];
        assert_eq!(memory.read(first, &mut bytes), Read::Written);
        assert_eq!(bytes, [1, 2, 3, 4]);
        assert_eq!(memory.read(first + 1, &mut bytes), Read::OutOfBounds);
        assert_eq!(
            memory.read(first.wrapping_sub(4), &mut bytes),
            Read::OutOfBounds
        );
        assert_eq!(memory.read(0, &mut bytes), Read::OutOfBounds);
        assert_eq!(memory.read(u64::MAX, &mut bytes), Read::OutOfBounds);
        assert_eq!(memory.read(second, &mut bytes), Read::Uninitialized);
        assert!(memory.write(second + 4, &[9; 4]) && !memory.write(second + 5, &[9; 4]));
        assert_eq!(memory.read(second + 4, &mut bytes), Read::Written);
        assert_eq!(
            memory.describe(first + 6),
            "2 bytes past the end of x, which has 4 bytes"
        );
        assert_eq!(memory.describe(second - 4), "4 bytes before the start of y");
    }

    #[test]
    fn large_buffers_are_sparse() {
        let mut memory = Memory::new();
        let address = memory.add_zeroed("x", 5 << 30).expect("below the limit");
        assert!(memory.write(address + (4 << 30) - 2, &[7; 4]));
        assert_eq!(
            memory.contents(address + (4 << 30) - 4, 8),
            Some(vec![0, 0, 7, 7, 7, 7, 0, 0])
        );
        assert!(memory.add_zeroed("y", 1 << 40).is_none());
    }
}
