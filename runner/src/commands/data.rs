//! The data folder of the commands that work on a server's jobs.

use crate::jobs::prepare_data_folder;
use std::{env, path::PathBuf};

/// The argument for the data folder.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DataArgs {
    /// Folder for jobs and results [default: ~/.local/share/hipward]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl DataArgs {
    /// The folder.
    pub(crate) fn folder(self) -> Result<PathBuf, String> {
        self.data.or_else(default_data).ok_or_else(|| {
            "there is no home folder for the data folder; choose a folder with --data".to_owned()
        })
    }

    /// The folder, closed to other users. Files that this process creates are private too.
    pub(crate) fn prepared_folder(self) -> Result<PathBuf, String> {
        let data = self.folder()?;
        prepare_data_folder(&data).map_err(|error| {
            let data = data.display();
            format!("cannot use the data folder {data}: {error}; choose a folder that you own with --data")
        })?;
        Ok(data)
    }
}

fn default_data() -> Option<PathBuf> {
    let share = env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".local/share")))?;
    Some(share.join("hipward"))
}
