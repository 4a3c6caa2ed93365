//! Processes items in parallel and returns the results in order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Maximum number of results per thread that wait for an earlier one. Threads pause there, which bounds memory.
const WAITING: usize = 16;

/// Calls `work` on every item on several threads, and `sink` on the results in order on this thread.
pub(super) fn in_order<T: Sync, R: Send>(
    items: &[T],
    threads: Option<NonZeroUsize>,
    work: impl Fn(&T) -> R + Sync,
    mut sink: impl FnMut(R),
) {
    let threads = threads
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get)
        .min(items.len());
    if threads <= 1 {
        for item in items {
            sink(work(item));
        }
        return;
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::sync_channel(threads * WAITING);
    thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else {
                        break;
                    };
                    if sender.send((index, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        // The loop below ends when the last thread drops its sender.
        drop(sender);
        let mut early = BTreeMap::new();
        let mut wanted = 0;
        for (index, result) in receiver {
            early.insert(index, result);
            while let Some(result) = early.remove(&wanted) {
                sink(result);
                wanted += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_come_in_order_however_long_each_takes() {
        let items: Vec<u64> = (0..200).collect();
        let mut results = Vec::new();
        let work = |item: &u64| {
            thread::sleep(Duration::from_micros((item * 7919) % 500));
            *item
        };
        in_order(&items, NonZeroUsize::new(8), work, |result| {
            results.push(result);
        });
        assert_eq!(results, items);
    }

    #[test]
    fn nothing_is_work_too() {
        in_order(&[0_u8; 0], None, |_| (), |()| panic!("there is no result"));
    }
}
