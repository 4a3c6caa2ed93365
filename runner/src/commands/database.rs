//! The shared database of several servers: its argument, and the store of a command.

use super::data::DataArgs;
use crate::{DATABASE_VARIABLE, jobs::Store};
use std::{env, path::PathBuf};

/// The argument for a shared database.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DatabaseArgs {
    /// Store jobs, results and tokens in this PostgreSQL database, such as postgres://hipward@db/hipward, instead of in the data
    /// folder. An address with a password belongs in $HIPWARD_DATABASE [default: $HIPWARD_DATABASE]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Trust the certificate authorities in this PEM file, instead of the machine's, for a database whose address has
    /// sslmode=require
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    database_ca: Option<PathBuf>,
}

impl DatabaseArgs {
    /// The certificate authorities to trust for the database.
    pub(crate) fn authority(&self) -> Option<PathBuf> {
        self.database_ca.clone()
    }

    /// The address of the database, if one is configured.
    pub(crate) fn url(&self) -> Result<Option<String>, String> {
        let Some(url) = &self.database else {
            let configured = env::var(DATABASE_VARIABLE).ok();
            return Ok(configured.filter(|url| !url.is_empty()));
        };
        let config: tokio_postgres::Config = url
            .parse()
            .map_err(|error| format!("--database: {error}; use postgres://USER@HOST/DATABASE"))?;
        if config.get_password().is_some() {
            return Err(format!(
                "--database URL with a password would show it to every process of this machine; write the URL into the environment \
                 variable {DATABASE_VARIABLE}"
            ));
        }
        Ok(Some(url.clone()))
    }

    /// The store of a command, beside servers that may be running.
    pub(crate) fn open_beside_server(&self, data: DataArgs) -> Result<Store, String> {
        let opened = match self.url()? {
            Some(url) => Store::connect(&url, self.database_ca.as_deref()),
            None => Store::open_beside_server(&data.prepared_folder()?),
        };
        opened.map_err(|error| error.to_string())
    }
}
