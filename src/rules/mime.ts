import { Buffer } from 'node:buffer'
import { isString, member } from '../protocol/json.js'
import { quote } from '../protocol/quote.js'
import { payloadOf } from './base64.js'
import { nothing, one, partRule } from './problem.js'

export const mime = partRule(part => {
  const given = member(part.value, 'mimeType')
  if (!isString(given)) return nothing
  const path = `${part.path}/mimeType`
  if (given.length > longest || !mediaType.test(given)) return one(path, `${quote(given)} is no media type`)
  const data = payloadOf(part)?.data
  const seen = data === undefined ? undefined : contradicted(given, head(data))
  return seen === undefined ? nothing : one(path, `${quote(given)}, but the data ${seen}`)
})

const longest = 255

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const parameter = `${token}=(?:${token}|"(?:[^"\\\\]|\\\\.)*")`
/** RFC 9110 section 8.3.1. White space has one place to stand in each turn of the loop, so that the time is linear. */
const mediaType = new RegExp(`^${token}/${token}[ \\t]*(?:;[ \\t]*(?:${parameter}[ \\t]*)?)*$`)

/** The first bytes, from which the kind of a file is told. */
const head = (base64: string): string => Buffer.from(base64.slice(0, 24), 'base64').toString('latin1')

interface Kind {
  readonly name: string
  readonly signature: RegExp
  /** The media types that data with this signature may have. */
  readonly types: RegExp
  /** Those of them that data without this signature cannot have. */
  readonly only?: RegExp
}

// Signatures too short to prove anything (two letters of BMP) are left out, and so is all that has none of its own.
// Libraries know hundreds of kinds, but guess: a text that begins with "BM" is a bitmap to them.
const kinds: readonly Kind[] = [
  {
    name: 'PNG',
    signature: /^\x89PNG\r\n\x1a\n/,
    types: /^image\/(?:x-)?(?:a?png|vnd\.mozilla\.apng)$/,
    only: /^image\/a?png$/,
  },
  { name: 'JPEG', signature: /^\xff\xd8\xff/, types: /^image\/p?jpe?g$/, only: /^image\/jpe?g$/ },
  { name: 'GIF', signature: /^GIF8[79]a/, types: /^image\/gif$/, only: /^image\/gif$/ },
  { name: 'WebP', signature: /^RIFF[^]{4}WEBP/, types: /^image\/webp$/, only: /^image\/webp$/ },
  { name: 'PDF', signature: /^%PDF-/, types: /^application\/(?:[a-z.-]*\+|x-)?(?:pdf|postscript|illustrator)$/ },
  {
    name: 'WAV',
    signature: /^(?:RIFF|RF64)[^]{4}WAVE/,
    types: /^audio\/(?:x-|vnd\.)?(?:wave?|pn-wav)$/,
    only: /^audio\/(?:x-)?wave?$/,
  },
  {
    name: 'Ogg',
    signature: /^OggS/,
    types: /^(?:audio|video|application)\/(?:x-)?(?:ogg|opus|vorbis|speex|theora|kate)/,
    only: /^audio\/ogg$/,
  },
  { name: 'FLAC', signature: /^fLaC/, types: /^audio\/(?:x-)?flac$/ },
  { name: 'MP3', signature: /^ID3[\x02-\x04]/, types: /^audio\// },
  { name: 'MP4', signature: /^[^]{4}ftyp/, types: /^(?:audio|video|image|application)\// },
  { name: 'Matroska', signature: /^\x1aE\xdf\xa3/, types: /^(?:audio|video)\// },
  // Documents, packages and books are archives of this kind.
  { name: 'ZIP', signature: /^PK(?:\x03\x04|\x05\x06)/, types: /^(?:application|model)\/|\+zip$/ },
]

/** What speaks against a media type in the first bytes of the data; undefined when nothing does. */
const contradicted = (mimeType: string, bytes: string): string | undefined => {
  const [essence = ''] = mimeType.toLowerCase().split(/[ \t;]/, 1)
  if (bytes === '' || essence === 'application/octet-stream' || essence.startsWith('multipart/')) return undefined
  const seen = kinds.find(({ signature }) => signature.test(bytes))
  if (seen !== undefined) return seen.types.test(essence) ? undefined : `begins as ${seen.name} does`
  const claimed = kinds.find(({ only }) => only?.test(essence))
  return claimed && `does not begin as ${claimed.name} does`
}
