//! Tokens of a team: each has a name, a role and optionally an expiry. The store contains hashes of them only.

use super::{
    Store, StoreError,
    error::Result,
    log::{now, timestamp},
    queries::parse_name,
    sql::{Row, values},
};
use crate::jobs::random_id;
use clap::ValueEnum;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::time::Duration;
use time::OffsetDateTime;

/// What a token permits. Each role includes those before it, except that of a worker, which no other includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// Running jobs of others with `hipward worker`, and nothing else
    Worker,
    /// Listing the jobs of all
    Read,
    /// Running code; cancelling and deleting own jobs
    Submit,
    /// Cancelling and deleting all jobs
    Operate,
}

impl Role {
    /// Whether a token with this role may send a request that needs another role.
    pub(crate) fn permits(self, needed: Role) -> bool {
        match needed {
            Role::Worker => self == Role::Worker,
            needed => self >= needed,
        }
    }

    /// Its name on the command line and in the store.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Worker => "worker",
            Role::Read => "read",
            Role::Submit => "submit",
            Role::Operate => "operate",
        }
    }
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredToken {
    /// Its name, which jobs that it submits store as their owner.
    pub(crate) name: String,
    /// Its role.
    pub(crate) role: Role,
    /// When it was created, RFC 3339.
    pub(crate) created_at: String,
    /// When it expires, RFC 3339.
    pub(crate) expires_at: Option<String>,
}

impl StoredToken {
    /// Whether it is no longer valid.
    pub(crate) fn is_expired(&self) -> bool {
        self.expires_at.as_ref().is_some_and(|end| *end <= now())
    }
}

impl Store {
    /// Creates a token. Returns its secret, which is not stored.
    pub(crate) fn add_token(
        &self,
        name: &str,
        role: Role,
        valid_for: Option<Duration>,
    ) -> Result<String> {
        let secret = random_id()?;
        let expires_at = valid_for.and_then(|valid| {
            let valid = time::Duration::try_from(valid).ok()?;
            OffsetDateTime::now_utc().checked_add(valid).map(timestamp)
        });
        self.change(|tx, _| {
            let added = tx.execute(
                "insert into tokens (name, hash, cookie, role, created_at, expires_at)
                 values (?1, ?2, ?3, ?4, ?5, ?6) on conflict (name) do nothing",
                values![
                    name,
                    sha256(&secret),
                    sha256(&cookie_value(&secret)),
                    role.name(),
                    now(),
                    &expires_at
                ],
            )?;
            match added {
                0 => Err(StoreError::TokenExists {
                    name: name.to_owned(),
                }),
                _ => Ok(secret),
            }
        })
    }

    /// Removes a token. Returns false if there is none with this name.
    pub(crate) fn remove_token(&self, name: &str) -> Result<bool> {
        self.change(|tx, _| {
            Ok(tx.execute("delete from tokens where name = ?1", values![name])? > 0)
        })
    }

    /// All tokens, by name.
    pub(crate) fn tokens(&self) -> Result<Vec<StoredToken>> {
        let rows = self.read(|tx| {
            tx.query(
                "select name, role, created_at, expires_at from tokens order by name",
                &[],
            )
        })?;
        rows.iter().map(stored).collect()
    }

    /// The token with this secret.
    pub(crate) fn find_token(&self, secret: &str) -> Result<Option<StoredToken>> {
        self.find_by("hash", secret)
    }

    /// The token whose [`cookie_value`] this is.
    pub(crate) fn find_token_by_cookie(&self, value: &str) -> Result<Option<StoredToken>> {
        self.find_by("cookie", value)
    }

    fn find_by(&self, column: &'static str, secret: &str) -> Result<Option<StoredToken>> {
        let query =
            format!("select name, role, created_at, expires_at from tokens where {column} = ?1");
        // The time of the comparison depends on hashes, which a client cannot choose byte by byte.
        let found = self.read(|tx| tx.first(&query, values![sha256(secret)]))?;
        found.as_ref().map(stored).transpose()
    }
}

/// The value of the cookie that a browser gets for a token. A hash, because not every token is a valid value.
pub(crate) fn cookie_value(token: &str) -> String {
    sha256(&format!("hipward cookie\0{token}"))
}

fn sha256(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
}

fn stored(row: &Row) -> Result<StoredToken> {
    Ok(StoredToken {
        name: row.get(0)?,
        role: parse_name(&row.get::<String>(1)?)?,
        created_at: row.get(2)?,
        expires_at: row.get(3)?,
    })
}
