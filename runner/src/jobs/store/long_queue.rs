//! The place of a long queue from which on more jobs are ahead than are counted, so that not each submission counts them.

use super::{lock, log::COUNTED};
use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

/// Time for which a place is used. Jobs that leave the queue meanwhile are counted as if they were in it.
const VALID: Duration = Duration::from_secs(1);

/// A job's place in the queue. The smallest is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) rank: i64,
    pub(super) turn: i64,
    pub(super) number: i64,
}

/// The foremost place that is known to have [`COUNTED`] jobs ahead.
#[derive(Debug, Default)]
pub(super) struct LongQueue(Mutex<Option<(Place, Instant)>>);

impl LongQueue {
    /// The number of jobs ahead of a place, at most [`COUNTED`]: known, or counted by `count`.
    pub(super) fn ahead<E>(
        &self,
        place: Place,
        count: impl FnOnce() -> Result<usize, E>,
    ) -> Result<usize, E> {
        let known = lock(&self.0).filter(|(_, at)| at.elapsed() < VALID);
        if known.is_some_and(|(full, _)| full <= place) {
            return Ok(COUNTED);
        }
        let ahead = count()?;
        if ahead >= COUNTED {
            *lock(&self.0) = Some((place, Instant::now()));
        }
        Ok(ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn place(turn: i64) -> Place {
        Place {
            rank: 0,
            turn,
            number: turn,
        }
    }

    #[test]
    fn places_behind_a_full_one_are_not_counted() {
        let queue = LongQueue::default();
        let count = |turn: i64, ahead: usize| {
            let mut counted = false;
            let known = queue.ahead(place(turn), || {
                counted = true;
                Ok::<_, Infallible>(ahead)
            });
            (known.expect("cannot fail"), counted)
        };
        assert_eq!(count(20_000, 7), (7, true));
        assert_eq!(count(20_000, COUNTED), (COUNTED, true));
        assert_eq!(count(20_001, 7), (COUNTED, false));
        assert_eq!(count(19_999, 3), (3, true));
        let high = Place {
            rank: -1,
            ..place(30_000)
        };
        assert!(high < place(1));
        *lock(&queue.0) = Some((place(20_000), Instant::now() - VALID));
        assert_eq!(count(20_001, 7), (7, true), "is too old");
    }
}
