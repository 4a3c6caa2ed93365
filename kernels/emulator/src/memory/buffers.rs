//! Global memory: buffers with gaps between them, in which every address is out of bounds.
//!
//! The contents are pages that exist once they are written, so that a buffer of several GiB costs only what a kernel
//! touches.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a page.
const PAGE: usize = 4096;

/// Distance between the addresses of two buffers.
const SPACING_BITS: u32 = 36;

/// Largest buffer, in bytes. The rest of the spacing is the gap.
const LARGEST: u64 = 1 << (SPACING_BITS - 1);

/// Most buffers: their addresses must fit into 47 bits, and the last slot is that of [`DATA`].
const MOST: usize = (1 << (47 - SPACING_BITS)) - 2;

/// Address of the constants and variables of the code.
pub(crate) const DATA: u64 = ((1 << (47 - SPACING_BITS)) - 1) << SPACING_BITS;

/// Lines of 64 bytes of a page.
const LINES: usize = PAGE / 64;

#[derive(Clone)]
struct Page {
    bytes: [u8; PAGE],
    /// A bit for each byte that was written.
    written: [u64; LINES],
    /// What was accessed, in memory on top of other memory.
    log: Option<Box<Log>>,
}

/// Accesses to a page of memory on top of other memory.
#[derive(Clone)]
struct Log {
    /// A bit for each line of which a byte was read.
    read: u64,
    /// A bit for each byte that was stored to.
    stored: [u64; LINES],
}

#[derive(Clone)]
struct Buffer {
    name: String,
    length: u64,
    pages: Vec<Option<Box<Page>>>,
    /// Whether bytes without a page were written (with zeros).
    zeroed: bool,
    /// Whether a page comes from the memory below, if there is one.
    shared: bool,
}

/// The memory of a GPU.
#[derive(Clone, Default)]
pub struct Memory {
    buffers: Vec<Buffer>,
    /// The last store to each watched address.
    watched: BTreeMap<u64, Option<Writer>>,
    /// The buffer at [`DATA`].
    data: Option<usize>,
    /// The memory that this one is on top of: its contents are visible, and stores do not change it.
    below: Option<Arc<Memory>>,
    /// Pages that were copied from the memory below: buffer and page.
    copied: Vec<(usize, usize)>,
}

/// The lane that stored to an address, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wavefront in its workgroup.
    pub wavefront: u32,
    /// The lane in its wavefront.
    pub lane: u32,
    /// Line of the listing; see [`Program::source`](crate::Program::source).
    pub line: u32,
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

    /// The number of pages that exist.
    pub(crate) fn pages(&self) -> u64 {
        let of_buffer = |buffer: &Buffer| buffer.pages.iter().flatten().count() as u64;
        self.buffers.iter().map(of_buffer).sum()
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
            shared: true,
        });
        Some((self.buffers.len() as u64) << SPACING_BITS)
    }

    /// Copies bytes out of a buffer; bytes that were never written are zero. `None` if the range is out of bounds.
    #[must_use]
    pub fn contents(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.locate(address, length)?;
        let mut bytes = vec![0; length];
        let (index, mut offset) = self.locate(address, length)?;
        let mut rest = bytes.as_mut_slice();
        while !rest.is_empty() {
            let start = offset % PAGE;
            let count = rest.len().min(PAGE - start);
            let (part, tail) = rest.split_at_mut(count);
            if let Some(Some(page)) = self.buffers.get(index)?.pages.get(offset / PAGE) {
                part.copy_from_slice(&page.bytes[start..start + count]);
            }
            (rest, offset) = (tail, offset + count);
        }
        Some(bytes)
    }

    /// Adds the constants and variables of the code at [`DATA`]. False if there are too many buffers.
    pub(crate) fn set_data(&mut self, contents: &[u8]) -> bool {
        self.data = None;
        if contents.is_empty() {
            return true;
        }
        let index = self.buffers.len();
        let added = self.add("the constants of the code", contents).is_some();
        self.data = added.then_some(index);
        added
    }

    /// Makes the bytes of the buffer at an address uninitialized.
    pub(crate) fn forget(&mut self, address: u64) {
        if let Some((index, _)) = self.locate(address, 0)
            && let Some(buffer) = self.buffers.get_mut(index)
        {
            buffer.pages.iter_mut().for_each(|page| *page = None);
            buffer.shared = false;
        }
    }

    /// Records from now on which lane stores to each of these addresses.
    pub fn watch(&mut self, addresses: impl IntoIterator<Item = u64>) {
        self.watched
            .extend(addresses.into_iter().map(|address| (address, None)));
    }

    /// The last store to a watched address. `None` if there was none, or if the address is not watched.
    #[must_use]
    pub fn writer(&self, address: u64) -> Option<Writer> {
        self.watched.get(&address).copied().flatten()
    }

    /// Records a store of `length` bytes, if an address of it is watched.
    pub(crate) fn stored(&mut self, address: u64, length: usize, writer: impl FnOnce() -> Writer) {
        if self.watched.is_empty() {
            return;
        }
        let end = address.saturating_add(length as u64);
        let mut found = self.watched.range_mut(address..end).peekable();
        if found.peek().is_some() {
            let writer = writer();
            found.for_each(|(_, slot)| *slot = Some(writer));
        }
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
        let slot = address >> SPACING_BITS;
        let index = if slot == DATA >> SPACING_BITS {
            self.data?
        } else {
            usize::try_from(slot).ok()?.checked_sub(1)?
        };
        let buffer = self.buffers.get(index)?;
        let offset = address & ((1 << SPACING_BITS) - 1);
        (offset + length as u64 <= buffer.length).then_some((index, offset as usize))
    }

    /// Reads bytes. What cannot be read is zero.
    pub(crate) fn read(&mut self, address: u64, bytes: &mut [u8]) -> Read {
        let Some((index, mut offset)) = self.locate(address, bytes.len()) else {
            bytes.fill(0);
            return Read::OutOfBounds;
        };
        let (mut rest, mut written) = (bytes, true);
        while !rest.is_empty() {
            let start = offset % PAGE;
            let count = rest.len().min(PAGE - start);
            let (part, tail) = rest.split_at_mut(count);
            if self.below.is_some() {
                self.page(index, offset / PAGE);
            }
            let buffer = self.buffers.get_mut(index);
            match buffer.map(|buffer| (buffer.zeroed, buffer.pages.get_mut(offset / PAGE))) {
                Some((_, Some(Some(page)))) => {
                    copy(part, &page.bytes[start..start + count]);
                    written &= page.is_written(start, count);
                    if let Some(log) = &mut page.log {
                        log.read |= lines(start, count);
                    }
                }
                other => {
                    part.fill(0);
                    written &= other.is_some_and(|(zeroed, _)| zeroed);
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
        let mut rest = bytes;
        while !rest.is_empty() {
            let start = offset % PAGE;
            let count = rest.len().min(PAGE - start);
            let (part, tail) = rest.split_at(count);
            if let Some(page) = self.page(index, offset / PAGE) {
                copy(&mut page.bytes[start..start + count], part);
                mark(&mut page.written, start, count);
                if let Some(log) = &mut page.log {
                    mark(&mut log.stored, start, count);
                }
            }
            (rest, offset) = (tail, offset + count);
        }
        true
    }

    /// A page of a buffer, which is created if it does not exist.
    fn page(&mut self, index: usize, number: usize) -> Option<&mut Page> {
        let buffer = self.buffers.get_mut(index)?;
        let (fill, shared) = (if buffer.zeroed { u64::MAX } else { 0 }, buffer.shared);
        let slot = buffer.pages.get_mut(number)?;
        if slot.is_none() {
            let below = self.below.as_ref().filter(|_| shared);
            let original =
                below.and_then(|below| below.buffers.get(index)?.pages.get(number)?.as_ref());
            let mut page = original.cloned().unwrap_or_else(|| {
                Box::new(Page {
                    bytes: [0; PAGE],
                    written: [fill; LINES],
                    log: None,
                })
            });
            if below.is_some() {
                page.log = Some(Box::new(Log {
                    read: 0,
                    stored: [0; LINES],
                }));
                self.copied.push((index, number));
            }
            *slot = Some(page);
        }
        slot.as_deref_mut()
    }

    /// Memory on top of this one: reads see its contents, stores do not change it.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn on_top(below: &Arc<Self>) -> Self {
        let buffers = below.buffers.iter().map(|buffer| Buffer {
            name: buffer.name.clone(),
            length: buffer.length,
            pages: vec![None; buffer.pages.len()],
            zeroed: buffer.zeroed,
            shared: true,
        });
        Self {
            buffers: buffers.collect(),
            watched: below
                .watched
                .keys()
                .map(|address| (*address, None))
                .collect(),
            data: below.data,
            below: Some(Arc::clone(below)),
            copied: Vec::new(),
        }
    }

    /// The accesses to the memory below, which this memory then no longer refers to.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn detach(mut self) -> Changes {
        self.below = None;
        Changes(self)
    }

    /// Applies the stores of memory that was on top of this one.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn apply(&mut self, changes: &Changes) {
        for (index, number, from, log) in changes.pages() {
            if log.stored == [0; LINES] {
                continue;
            }
            let Some(page) = self.page(index, number) else {
                continue;
            };
            for (line, stored) in log.stored.iter().enumerate() {
                let range = 64 * line..64 * line + 64;
                page.written[line] |= stored;
                if *stored == u64::MAX {
                    page.bytes[range.clone()].copy_from_slice(&from.bytes[range]);
                } else if *stored != 0 {
                    for at in range.filter(|at| stored >> (at % 64) & 1 == 1) {
                        page.bytes[at] = from.bytes[at];
                    }
                }
            }
        }
        for (address, writer) in &changes.0.watched {
            if let (Some(slot), Some(writer)) = (self.watched.get_mut(address), writer) {
                *slot = Some(*writer);
            }
        }
    }

    /// Describes an address relative to the nearest buffer.
    pub(crate) fn describe(&self, address: u64) -> String {
        let slot = match (address >> SPACING_BITS, self.data) {
            (slot, Some(index)) if slot == DATA >> SPACING_BITS => index as u64 + 1,
            (slot, _) => slot,
        };
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
                let distance = match offset - buffer.length {
                    0 => "right".to_owned(),
                    bytes => format!("{bytes} bytes"),
                };
                format!(
                    "{distance} past the end of {}, which has {} bytes",
                    buffer.name, buffer.length
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
        masks(start, count).all(|(word, mask)| self.written[word] & mask == mask)
    }
}

/// Sets the bits of bytes.
fn mark(bits: &mut [u64; LINES], start: usize, count: usize) {
    masks(start, count).for_each(|(word, mask)| bits[word] |= mask);
}

/// The words that contain the bits of bytes of a page, and these bits.
#[inline]
fn masks(start: usize, count: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = start + count;
    (start / 64..end.div_ceil(64)).map(move |word| {
        let (first, last) = (start.max(64 * word), end.min(64 * word + 64));
        (word, u64::MAX >> (64 - (last - first)) << (first % 64))
    })
}

/// Copies the bytes of a lane or of a page. Both slices have the same length; the common ones need no call of a function.
#[inline]
fn copy(to: &mut [u8], from: &[u8]) {
    fn of<const N: usize>(to: &mut [u8], from: &[u8]) {
        if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
            *to = *from;
        }
    }
    match to.len() {
        1 => of::<1>(to, from),
        2 => of::<2>(to, from),
        4 => of::<4>(to, from),
        8 => of::<8>(to, from),
        16 => of::<16>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// A bit for each line that contains one of these bytes.
fn lines(start: usize, count: usize) -> u64 {
    let (first, last) = (start / 64, (start + count.max(1) - 1) / 64);
    u64::MAX >> (63 - (last - first)) << first
}

/// What was read of memory and stored to it by memory on top of it.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) struct Changes(Memory);

/// Lines that were stored to: for each buffer and page a bit for each line.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Default)]
pub(crate) struct Stored(std::collections::HashMap<(usize, usize), u64>);

#[cfg(not(target_arch = "wasm32"))]
impl Changes {
    fn pages(&self) -> impl Iterator<Item = (usize, usize, &Page, &Log)> {
        self.0.copied.iter().filter_map(|(index, number)| {
            let page = self.0.buffers.get(*index)?.pages.get(*number)?.as_ref()?;
            Some((*index, *number, &**page, page.log.as_deref()?))
        })
    }

    /// Whether a line was read that others have stored to.
    pub(crate) fn depend_on(&self, stored: &Stored) -> bool {
        self.pages().any(|(index, number, _, log)| {
            stored
                .0
                .get(&(index, number))
                .is_some_and(|lines| lines & log.read != 0)
        })
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Stored {
    /// Adds the lines that changes store to.
    pub(crate) fn add(&mut self, changes: &Changes) {
        for (index, number, _, log) in changes.pages() {
            let lines = log
                .stored
                .iter()
                .enumerate()
                .fold(0, |lines, (line, stored)| {
                    lines | u64::from(*stored != 0) << line
                });
            if lines != 0 {
                *self.0.entry((index, number)).or_default() |= lines;
            }
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
    fn memory_on_top_changes_the_memory_below_when_it_is_applied() {
        let mut memory = Memory::new();
        let x = memory.add("x", &[1; 256]).expect("small");
        let y = memory.add_uninitialized("y", 8).expect("small");
        let below = Arc::new(memory);
        let mut first = Memory::on_top(&below);
        let mut second = Memory::on_top(&below);
        assert!(first.write(x + 2, &[7; 2]) && first.write(y, &[3; 4]));
        let mut bytes = [0; 4];
        assert_eq!(first.read(x + 1, &mut bytes), Read::Written);
        assert_eq!(bytes, [1, 7, 7, 1]);
        assert_eq!(second.read(x + 64, &mut bytes), Read::Written);
        assert_eq!(second.read(y, &mut bytes), Read::Uninitialized);
        assert!(second.write(x + 4, &[9]));
        let (first, second) = (first.detach(), second.detach());
        let mut memory = Arc::into_inner(below).expect("no other reference");
        let mut stored = Stored::default();
        assert!(!first.depend_on(&stored));
        memory.apply(&first);
        stored.add(&first);
        assert!(
            second.depend_on(&stored),
            "it read y before the first store"
        );
        memory.apply(&second);
        assert_eq!(memory.contents(x, 6), Some(vec![1, 1, 7, 7, 9, 1]));
        assert_eq!(memory.read(y, &mut bytes), Read::Written);
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
