//! Deliveries of webhooks: one row for each job that has ended and each address, stored in the transaction of the job's final event
//! and removed once the receiver has confirmed it. So none is lost when a server ends.

use super::{
    Store,
    error::Result,
    sql::{Sql, Value, values},
};
use std::time::Duration;

/// Time within which a server that has claimed a delivery must send it. Other servers then claim it again.
const CLAIM_TIME: Duration = Duration::from_secs(60);
/// The delay after the first failed attempt. It is four times as long after each further one.
const FIRST_DELAY: Duration = Duration::from_secs(2);
/// The longest delay.
const MAX_DELAY: Duration = Duration::from_hours(6);
/// Number of attempts after which a delivery is given up, after about a day.
const MAX_ATTEMPTS: u32 = 12;

/// A delivery that is to be sent now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Its number. A delivery that is repeated has the same one.
    pub(crate) number: u64,
    /// The address.
    pub(crate) url: String,
    /// The job that has ended.
    pub(crate) job: String,
    /// Number of this attempt, from 1.
    pub(crate) attempt: u32,
}

/// Stores a delivery to each address.
pub(super) fn add(tx: &dyn Sql, urls: &[String], job: &str) -> Result<()> {
    for url in urls {
        let statement = format!(
            "insert into deliveries (url, job, next_at) values (?1, ?2, {})",
            tx.dialect().now
        );
        tx.execute(&statement, values![url, job])?;
    }
    Ok(())
}

impl Store {
    /// Sets the addresses that are notified when a job ends. The first call has an effect.
    pub(crate) fn set_webhooks(&self, urls: Vec<String>) {
        self.0.webhooks.get_or_init(|| urls.into());
    }

    /// The addresses that are notified when a job ends.
    pub(super) fn webhooks(&self) -> &[String] {
        self.0.webhooks.get().map_or(&[], |urls| urls)
    }

    /// Claims a delivery to one of this server's addresses that is due, if there is one.
    pub(crate) fn claim_delivery(&self) -> Result<Option<Delivery>> {
        let urls = self.webhooks();
        if urls.is_empty() {
            return Ok(None);
        }
        let own: Vec<String> = (2..urls.len() + 2).map(|nth| format!("?{nth}")).collect();
        let mut params: Vec<Value> = vec![CLAIM_TIME.as_secs_f64().into()];
        params.extend(urls.iter().map(Value::from));
        self.change(|tx, _| {
            let now = tx.dialect().now;
            let statement = format!(
                "update deliveries set attempts = attempts + 1, next_at = {now} + ?1
                 where number = (select number from deliveries where next_at <= {now} and url in ({})
                                 order by next_at limit 1{})
                 returning number, url, job, attempts",
                own.join(", "),
                tx.dialect().skip_locked
            );
            let Some(row) = tx.first(&statement, &params)? else {
                return Ok(None);
            };
            Ok(Some(Delivery {
                number: row.get(0)?,
                url: row.get(1)?,
                job: row.get(2)?,
                attempt: row.get(3)?,
            }))
        })
    }

    /// Removes a delivery that the receiver has confirmed, or whose job was removed.
    pub(crate) fn end_delivery(&self, delivery: &Delivery) -> Result<()> {
        self.change(|tx, _| {
            tx.execute(
                "delete from deliveries where number = ?1",
                values![delivery.number],
            )?;
            Ok(())
        })
    }

    /// Schedules the next attempt of a delivery that failed. Returns the delay, or None if it is given up.
    pub(crate) fn retry_delivery(&self, delivery: &Delivery) -> Result<Option<Duration>> {
        if delivery.attempt >= MAX_ATTEMPTS {
            self.end_delivery(delivery)?;
            return Ok(None);
        }
        let delay = delay(delivery.attempt);
        self.change(|tx, _| {
            let statement = format!(
                "update deliveries set next_at = {} + ?2 where number = ?1",
                tx.dialect().now
            );
            tx.execute(&statement, values![delivery.number, delay.as_secs_f64()])?;
            Ok(Some(delay))
        })
    }

    /// The number of deliveries that are not confirmed.
    pub(crate) fn open_deliveries(&self) -> Result<u64> {
        self.read(|tx| tx.one("select count(*) from deliveries", &[]))
    }
}

/// The delay after this many failed attempts.
fn delay(attempts: u32) -> Duration {
    let factor = 4u32.saturating_pow(attempts.saturating_sub(1));
    FIRST_DELAY.saturating_mul(factor).min(MAX_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_limit() {
        let seconds: Vec<u64> = (1..=MAX_ATTEMPTS).map(|n| delay(n).as_secs()).collect();
        assert_eq!(seconds[..4], [2, 8, 32, 128]);
        assert_eq!(seconds.last(), Some(&MAX_DELAY.as_secs()));
        let day = 24 * 3600;
        let total: u64 = seconds[..seconds.len() - 1].iter().sum();
        assert!((day..2 * day).contains(&total), "{total}");
    }
}
