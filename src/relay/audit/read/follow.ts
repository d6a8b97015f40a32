import { open, stat, type FileHandle } from 'node:fs/promises'
import { cannotRead, codeOf } from '#relay/base/errors.js'
import { filesOfLog } from '../place.js'
import { chunkBytes, Lines } from './lines.js'
import { logsIn } from './logs.js'

interface NewLines {
  readonly file: string
  /** Without the line ends. Each is valid until the next is asked for. */
  readonly lines: Iterable<Buffer>
  /** How many bytes were read for them. */
  readonly size: number
}

/** How far a file was read. */
interface Tail {
  /** Bytes that were read. */
  offset: number
  /** When the file was last written before it was read, in nanoseconds since 1970. */
  modified: bigint
  readonly lines: Lines
  /** The file's first bytes. They differ for a later file with the same inode number. */
  head: Buffer
}

const headBytes = 512

/** Reads lines as they are appended, also in files that rotation or a new process begins. */
export class LogFollower {
  readonly #paths: readonly string[]
  /** By device and inode: a file that is renamed is still the same. */
  #tails = new Map<string, Tail>()

  /** @param paths files and folders; in folders and below them, `*.ndjson` is read */
  constructor(paths: readonly string[]) {
    this.#paths = paths
  }

  /**
   * Skips the lines that exist already.
   * @param isSkipped whether a file is skipped, by when it was last written, in milliseconds since 1970
   * @returns for each skipped file, the end of its last whole line, in bytes
   */
  async skip(
    isSkipped: (modified: number, file: string) => boolean = () => true,
  ): Promise<ReadonlyMap<string, number>> {
    const skipped = new Map<string, number>()
    for (const file of await this.#files()) {
      const state = await stateOf(file)
      if (state === undefined || !isSkipped(Number(state.modified / 1_000_000n), file)) continue
      const handle = await openIfThere(file)
      if (handle === undefined) continue
      try {
        const offset = await lastLineEnd(handle, state.size)
        const head = await bytesAt(handle, 0, headBytes)
        this.#tails.set(state.identity, { offset, modified: state.modified, lines: new Lines(), head })
        skipped.set(file, offset)
      } finally {
        await handle.close()
      }
    }
    return skipped
  }

  /** How many bytes `poll` would read now. */
  async unread(): Promise<number> {
    const sizes = (await this.#files()).map(async file => {
      const state = await stateOf(file)
      if (state === undefined) return 0
      const { offset = 0 } = this.#tails.get(state.identity) ?? {}
      return state.size < offset ? state.size : state.size - offset
    })
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  }

  /**
   * The lines since the last call, a chunk of a file at a time; the caller has to take all of them.
   * @throws CustomsError CANNOT_AUDIT when an existing file cannot be read
   */
  async *poll(): AsyncGenerator<NewLines> {
    const tails = new Map<string, Tail>()
    for (const file of await this.#files()) {
      const state = await stateOf(file)
      if (state === undefined || tails.has(state.identity)) continue
      const known = this.#tails.get(state.identity)
      if (known) tails.set(state.identity, known)
      if (known?.offset === state.size && known.modified === state.modified) continue
      const handle = await openIfThere(file)
      if (handle === undefined) continue
      try {
        const isKnown = known !== undefined && (await isSame(known, state.size, handle))
        const tail = isKnown ? known : { offset: 0, modified: 0n, lines: new Lines(), head: Buffer.alloc(0) }
        if (tail.head.length < headBytes) tail.head = await bytesAt(handle, 0, headBytes)
        tail.modified = state.modified
        tails.set(state.identity, tail)
        for await (const bytes of chunksFrom(handle, tail)) {
          yield { file, lines: tail.lines.take(bytes), size: bytes.length }
        }
      } finally {
        await handle.close()
      }
    }
    this.#tails = tails
  }

  async #files(): Promise<readonly string[]> {
    const files = await Promise.all(this.#paths.map(async path => {
      const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true
      try {
        return isFolder ? await logsIn(path) : filesOfLog(path)
      } catch (cause) {
        // The folder may be created later.
        if (codeOf(cause) === 'ENOENT') return []
        throw cannotRead('CANNOT_AUDIT', path, cause)
      }
    }))
    return files.flat()
  }
}

const stateOf = async (file: string) => {
  // On some systems, inode numbers do not fit a double.
  const state = await stat(file, { bigint: true }).catch(() => undefined)
  if (state?.isFile() !== true) return undefined
  return { identity: `${state.dev} ${state.ino}`, size: Number(state.size), modified: state.mtimeNs }
}

/** False for a file that was cut, and for another file with the same inode number. */
const isSame = async ({ offset, head }: Tail, size: number, handle: FileHandle): Promise<boolean> =>
  size >= offset && (await bytesAt(handle, 0, head.length)).equals(head)

/** A missing file is being rotated, or was removed because it was old. */
const openIfThere = (file: string): Promise<FileHandle | undefined> =>
  open(file).catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') return undefined
    throw cannotRead('CANNOT_AUDIT', file, cause)
  })

/** While a chunk is used, the next is read. */
async function* chunksFrom(handle: FileHandle, tail: Tail): AsyncGenerator<Buffer> {
  let next = bytesAt(handle, tail.offset, chunkBytes)
  for (;;) {
    const bytes = await next
    if (bytes.length === 0) return
    tail.offset += bytes.length
    next = bytesAt(handle, tail.offset, chunkBytes)
    // Its failure is that of the next round; nobody waits for it when the caller stops.
    next.catch(() => undefined)
    yield bytes
  }
}

const lastLineEnd = async (handle: FileHandle, size: number): Promise<number> => {
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - chunkBytes)
    const at = (await bytesAt(handle, start, end - start)).lastIndexOf(0x0a)
    if (at >= 0) return start + at + 1
    end = start
  }
  return 0
}

const bytesAt = async (handle: FileHandle, position: number, length: number): Promise<Buffer> => {
  const buffer = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await handle.read(buffer, read, length - read, position + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return buffer.subarray(0, read)
}
