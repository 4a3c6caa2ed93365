//! The pages of a server as they are now: fixed, or loaded again when the content folder changes.

use super::pages::{Pages, PagesError, SiteOptions};
use notify::{EventKind, RecursiveMode, Watcher};
use std::{
    path::Path,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::sync::watch;

/// Time without a change after which the folder is loaded. An editor writes a file in several steps.
const SETTLED: Duration = Duration::from_millis(100);
/// Time after which the folder is loaded even if more changes follow.
const UNSETTLED: Duration = Duration::from_secs(2);

/// The current pages. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct LivePages {
    current: watch::Receiver<Arc<Pages>>,
    /// The version of the content, if its folder is watched; see [`LivePages::versions`].
    versions: Option<watch::Receiver<u64>>,
}

impl LivePages {
    /// Pages that do not change.
    pub(crate) fn fixed(pages: Pages) -> Self {
        LivePages {
            current: watch::channel(Arc::new(pages)).1,
            versions: None,
        }
    }

    /// Pages of a content folder. They are loaded again when a file in it is saved. Errors in the content are
    /// logged, and shown by the pages that have them.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or a team's rule is invalid.
    pub(crate) fn watch(folder: &Path, options: &SiteOptions) -> Result<Self, PagesError> {
        let changes = changes(folder);
        let version = now();
        let pages = Pages::load_watched(folder, options, version)?;
        log_errors(&pages);
        let (pages, current) = watch::channel(Arc::new(pages));
        let (version, versions) = watch::channel(version);
        match changes {
            Ok(changes) => {
                let (folder, options) = (folder.to_owned(), options.clone());
                // Ends with the process, because the watcher never ends by itself.
                thread::spawn(move || changes.reload(&folder, &options, &pages, &version));
            }
            Err(error) => tracing::warn!(
                "{} cannot be watched, so changes are served after a restart: {error}",
                folder.display()
            ),
        }
        Ok(LivePages {
            current,
            versions: Some(versions),
        })
    }

    /// The pages as they are now.
    pub(crate) fn current(&self) -> Arc<Pages> {
        self.current.borrow().clone()
    }

    /// The version of the content and its changes: when it was loaded, in milliseconds since 1970. None if the
    /// content is not watched.
    pub(crate) fn versions(&self) -> Option<watch::Receiver<u64>> {
        self.versions.clone()
    }
}

/// A watcher with its events.
struct Changes {
    events: mpsc::Receiver<notify::Result<notify::Event>>,
    _watcher: notify::RecommendedWatcher,
}

fn changes(folder: &Path) -> notify::Result<Changes> {
    let (sender, events) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(sender)?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok(Changes {
        events,
        _watcher: watcher,
    })
}

impl Changes {
    /// Loads the pages again after each change, until the watcher ends.
    fn reload(
        &self,
        folder: &Path,
        options: &SiteOptions,
        pages: &watch::Sender<Arc<Pages>>,
        version: &watch::Sender<u64>,
    ) {
        while let Ok(event) = self.events.recv() {
            if !is_change(&event) {
                continue;
            }
            let latest = Instant::now() + UNSETTLED;
            while self.events.recv_timeout(SETTLED).is_ok() && Instant::now() < latest {}
            let loaded_at = now();
            match Pages::load_watched(folder, options, loaded_at) {
                Ok(loaded) => {
                    tracing::info!("loaded {} again", folder.display());
                    log_errors(&loaded);
                    pages.send_replace(Arc::new(loaded));
                    // After the pages, because clients request them when the version changes.
                    version.send_replace(loaded_at);
                }
                Err(error) => tracing::error!("still serving the previous content: {error}"),
            }
        }
    }
}

/// Whether an event is a change. Reading a file is an event too, and loading reads files.
fn is_change(event: &notify::Result<notify::Event>) -> bool {
    !matches!(event, Ok(event) if matches!(event.kind, EventKind::Access(_)))
}

fn log_errors(pages: &Pages) {
    for error in pages.content_errors() {
        tracing::error!("{error}");
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
