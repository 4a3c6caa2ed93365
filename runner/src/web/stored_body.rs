//! The body of a response that is the same for all clients, with its entity tag and its compressed forms.

use super::content_coding::Coding;
use axum::body::Bytes;
use data_encoding::HEXLOWER;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use std::{
    io::{self, Write},
    sync::OnceLock,
};

/// Of 11. Higher qualities take tens of milliseconds for a long page.
const BROTLI_QUALITY: u32 = 9;
/// The quality of [`StoredBody::minimize`].
const SMALLEST_QUALITY: u32 = 11;

/// A body as it is sent. Each compressed form is made when it is first requested.
#[derive(Debug)]
pub(crate) struct StoredBody {
    plain: Bytes,
    tag: String,
    brotli: OnceLock<Bytes>,
    /// Takes the place of `brotli` once it was made.
    smallest: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
}

impl StoredBody {
    pub(super) fn new(text: String) -> Self {
        StoredBody {
            tag: weak_tag(text.as_bytes()),
            plain: Bytes::from(text),
            brotli: OnceLock::new(),
            smallest: OnceLock::new(),
            gzip: OnceLock::new(),
        }
    }

    /// The value of `ETag`.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// The body in a content coding, or as it is. None if this form is yet to be made by [`StoredBody::compress`].
    pub(crate) fn body(&self, coding: Option<Coding>) -> Option<Bytes> {
        match coding {
            None => Some(self.plain.clone()),
            Some(coding) => self.form(coding).get().cloned(),
        }
    }

    /// The body in a content coding, or as it is. Blocks for some milliseconds if it is compressed for the first time.
    pub(crate) fn compress(&self, coding: Option<Coding>) -> io::Result<Bytes> {
        let Some(coding) = coding else {
            return Ok(self.plain.clone());
        };
        if let Some(known) = self.form(coding).get() {
            return Ok(known.clone());
        }
        let compressed = match coding {
            Coding::Brotli => brotli(&self.plain, BROTLI_QUALITY)?,
            Coding::Gzip => gzip(&self.plain)?,
        };
        Ok(self.form(coding).get_or_init(|| compressed.into()).clone())
    }

    /// Makes the smallest brotli form, which takes its place from then on. Blocks for about a second for the search index, so
    /// no response waits for it.
    pub(crate) fn minimize(&self) -> io::Result<()> {
        if self.smallest.get().is_none() {
            let compressed = brotli(&self.plain, SMALLEST_QUALITY)?;
            self.smallest.get_or_init(|| compressed.into());
        }
        Ok(())
    }

    fn form(&self, coding: Coding) -> &OnceLock<Bytes> {
        match coding {
            Coding::Brotli if self.smallest.get().is_some() => &self.smallest,
            Coding::Brotli => &self.brotli,
            Coding::Gzip => &self.gzip,
        }
    }
}

/// A weak entity tag: the start of the body's SHA-256, in hexadecimal. Weak, because a response with the same tag may be sent
/// in several content codings.
pub(crate) fn weak_tag(body: &[u8]) -> String {
    format!("W/\"{}\"", HEXLOWER.encode(&Sha256::digest(body)[..16]))
}

fn brotli(plain: &[u8], quality: u32) -> io::Result<Vec<u8>> {
    let mut writer = brotli::CompressorWriter::new(Vec::new(), 1 << 16, quality, 22);
    writer.write_all(plain)?;
    Ok(writer.into_inner())
}

fn gzip(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::best());
    writer.write_all(plain)?;
    writer.finish()
}
