//! A database that several servers share: PostgreSQL. Row locks and leases that expire replace the single writer of the
//! embedded database, and `NOTIFY` sends each server the changes of the others.

mod listener;
mod notifier;
mod schema;
mod tls;
mod values;

use self::notifier::{Notifier, notifier};
use super::{
    Store,
    error::{Result, StoreError},
    log::Log,
    signals::Signals,
    sql::{Database, Dialect, Row, Sql, Value},
};
use crate::jobs::random_id;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Transaction};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    time::timeout,
};
use tokio_postgres::{Config, IsolationLevel, types::ToSql};

/// The maximum number of connections of one server, besides the one that listens.
const CONNECTIONS: usize = 8;
/// Time within which a connection must be established or become free.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time within which the database must answer a statement.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(20);

static DIALECT: Dialect = Dialect {
    // Not `now()`, which is the time at which the transaction began.
    now: "extract(epoch from clock_timestamp())::float8",
    for_update: " for update",
    skip_locked: " for update skip locked",
    lock: Some("select pg_advisory_xact_lock(hashtextextended(?1, 0))"),
};

/// The connections of one server to the database.
#[derive(Debug)]
pub(super) struct Postgres {
    pool: Pool,
    /// Sends the changes to the other servers.
    notifier: Notifier,
    /// Runs the connections. None once this value is being dropped.
    runtime: Option<Runtime>,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Dropping a runtime waits, which is not allowed on a thread that runs tasks.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Store {
    /// Connects to a shared database and creates or upgrades its tables. Must be called where blocking is allowed.
    /// `authority` is a file with the certificates of the authorities to trust for `sslmode=require` instead of the machine's.
    pub(crate) fn connect(url: &str, authority: Option<&Path>) -> Result<Self> {
        let mut config: Config = url.parse().map_err(StoreError::database_url)?;
        let tls = tls::connector(&mut config, authority)?;
        config.connect_timeout(CONNECT_TIMEOUT);
        if config.get_application_name().is_none() {
            config.application_name("hipward");
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("postgres")
            .enable_all()
            .build()
            .map_err(|error| StoreError::disconnected(&error))?;
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(config.clone(), tls.clone(), recycling);
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .wait_timeout(Some(STATEMENT_TIMEOUT))
            .create_timeout(Some(CONNECT_TIMEOUT))
            .build()
            .map_err(|error| StoreError::disconnected(&error))?;
        let signals = Arc::<Signals>::default();
        let server = random_id::random_id()?;
        let (notifier, notifying) = notifier(config.clone(), tls.clone(), server.clone());
        let listening = listener::listen(config, tls, server, signals.clone());
        let database = Postgres {
            pool,
            notifier,
            runtime: Some(runtime),
        };
        database.write(&mut schema::migrate)?;
        database.handle()?.spawn(listening);
        database.handle()?.spawn(notifying);
        Ok(Store::on(Box::new(database), signals))
    }
}

impl Postgres {
    fn handle(&self) -> Result<&Handle> {
        let runtime = self.runtime.as_ref();
        runtime
            .map(Runtime::handle)
            .ok_or_else(|| StoreError::unreachable(&"the server is stopping"))
    }

    fn transaction(
        &self,
        isolation: IsolationLevel,
        read_only: bool,
        act: &mut dyn FnMut(&dyn Sql) -> Result<()>,
    ) -> Result<()> {
        let handle = self.handle()?;
        let connected = handle.block_on(self.pool.get());
        let mut client = connected.map_err(|error| StoreError::disconnected(&error))?;
        let outcome = (|| {
            let begin = client
                .build_transaction()
                .isolation_level(isolation)
                .read_only(read_only)
                .start();
            let tx = wait(handle, begin)?;
            let acted = act(&Statements { handle, tx: &tx });
            match acted {
                Ok(()) => wait(handle, tx.commit()),
                Err(error) => {
                    // A connection that is lost has no transaction any more.
                    let _ = wait(handle, tx.rollback());
                    Err(error)
                }
            }
        })();
        if matches!(outcome, Err(StoreError::Unreachable { .. })) {
            // Its state is unknown, so nobody else gets it.
            drop(Object::take(client));
        }
        outcome
    }
}

impl Database for Postgres {
    fn read(&self, act: &mut dyn FnMut(&dyn Sql) -> Result<()>) -> Result<()> {
        self.transaction(IsolationLevel::RepeatableRead, true, act)
    }

    fn write(&self, act: &mut dyn FnMut(&dyn Sql) -> Result<()>) -> Result<()> {
        self.transaction(IsolationLevel::ReadCommitted, false, act)
    }

    fn announce(&self, log: &Log) {
        self.notifier.committed(log);
    }

    fn is_shared(&self) -> bool {
        true
    }

    /// PostgreSQL checks its pages itself, if it was created with checksums.
    fn damage(&self) -> Result<Option<String>> {
        Ok(None)
    }

    fn live_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        self.read(&mut |tx| {
            bytes = tx.one(
                "select pg_total_relation_size('jobs') + pg_total_relation_size('events')",
                &[],
            )?;
            Ok(())
        })?;
        Ok(bytes)
    }

    /// PostgreSQL reuses the space of removed rows.
    fn shrink(&self) -> Result<()> {
        Ok(())
    }
}

/// The statements of a transaction.
struct Statements<'a> {
    handle: &'a Handle,
    tx: &'a Transaction<'a>,
}

impl Sql for Statements<'_> {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn execute(&self, statement: &str, params: &[Value]) -> Result<u64> {
        wait(self.handle, async {
            let statement = self.tx.prepare_cached(&numbered(statement)).await?;
            let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as _).collect();
            self.tx.execute(&statement, &params).await
        })
    }

    fn query(&self, statement: &str, params: &[Value]) -> Result<Vec<Row>> {
        let rows = wait(self.handle, async {
            let statement = self.tx.prepare_cached(&numbered(statement)).await?;
            let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as _).collect();
            self.tx.query(&statement, &params).await
        })?;
        rows.iter().map(values::row).collect()
    }
}

/// A statement with PostgreSQL's parameters: `$1` for `?1`.
fn numbered(statement: &str) -> String {
    statement.replace('?', "$")
}

/// Waits for the database.
fn wait<T>(
    handle: &Handle,
    answer: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
) -> Result<T> {
    // Within the runtime, whose clock it uses.
    let answered = handle.block_on(async { timeout(STATEMENT_TIMEOUT, answer).await });
    match answered {
        Ok(result) => Ok(result?),
        Err(_) => Err(StoreError::unreachable(&format!(
            "it did not answer within {} seconds",
            STATEMENT_TIMEOUT.as_secs()
        ))),
    }
}
