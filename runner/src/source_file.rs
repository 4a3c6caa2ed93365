//! Reads source files. A folder may contain anything with the name of a source: pipes, devices, sockets, files of any size.

use std::fs::{self, File};
use std::io::{self, Error, ErrorKind, Read};
use std::path::Path;

/// Maximum size of a file that is read, bytes: more than the analyzer accepts in any language and encoding.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a file that the user passed or that a folder contains. A pipe is read to its end.
///
/// # Errors
/// [`ErrorKind::FileTooLarge`] for more than [`MAX_BYTES`], so that a device without an end is an error too.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    // With space for the whole file a few reads are enough. The length of a pipe is 0, and of a device it means nothing.
    let length = file.metadata().map_or(0, |what| what.len());
    let mut bytes =
        Vec::with_capacity(usize::try_from(length.min(MAX_BYTES)).unwrap_or_default() + 1);
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let message = format!("larger than {} MB; not analyzed", MAX_BYTES >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads a file that the user did not pass, such as one beside a source. A pipe, which could block, is an error.
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    read(path)
}

/// What an entry of a folder is that cannot be analyzed although its name is a source's; `None` for files and folders, and
/// for links to them.
pub(crate) fn special(path: &Path) -> Option<&'static str> {
    let kind = match fs::metadata(path) {
        Ok(what) if what.is_file() || what.is_dir() => return None,
        Ok(what) => what.file_type(),
        Err(_) if path.is_symlink() => return Some("a link that leads to no file"),
        Err(_) => return None,
    };
    Some(kind_name(kind))
}

#[cfg(unix)]
fn kind_name(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;

    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn kind_name(_: fs::FileType) -> &'static str {
    "not a regular file"
}
