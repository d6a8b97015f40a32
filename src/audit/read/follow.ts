import { open, stat, type FileHandle } from 'node:fs/promises'
import { codeOf, CustomsError } from '../../errors.js'
import { filesOfLog } from '../place.js'
import { Lines, piece } from './lines.js'
import { logsIn } from './logs.js'

/** A whole line that was written since. */
export interface NewLine {
  readonly file: string
  /** Without the line end. */
  readonly bytes: Uint8Array
}

interface Tail {
  /** So far it was read, in bytes. */
  offset: number
  /** When it was last written, in nanoseconds since 1970, as far as that was read. */
  modified: bigint
  readonly lines: Lines
  /** Its first bytes. The system gives the number of a file that was removed to another one: they tell which it is. */
  head: Buffer
}

const headBytes = 512

/** Reads what comes to be in files and folders: in files that grow, in those that rotation begins, in new ones. */
export class Follower {
  readonly #paths: readonly string[]
  /** By what the system calls the file, whatever its name. */
  #tails = new Map<string, Tail>()

  /** @param paths files and folders; of folders, `*.ndjson` in all below them */
  constructor(paths: readonly string[]) {
    this.#paths = paths
  }

  /**
   * Leaves out what is there already.
   * @param isOld whether a file is left out, by when it was last written, in milliseconds since 1970
   * @returns how far each of those files goes, in bytes: to the end of its last whole line
   */
  async skip(isOld: (modified: number) => boolean = () => true): Promise<ReadonlyMap<string, number>> {
    const skipped = new Map<string, number>()
    for (const file of await this.#files()) {
      const state = await stateOf(file)
      if (state === undefined || !isOld(Number(state.modified / 1_000_000n))) continue
      await reading(file, async handle => {
        const offset = await lastLineEnd(handle, state.size)
        const tail = { offset, modified: state.modified, lines: new Lines(), head: await bytesAt(handle, 0, headBytes) }
        this.#tails.set(state.identity, tail)
        skipped.set(file, tail.offset)
      })
    }
    return skipped
  }

  /** The lines that came since the last time. @throws CustomsError CANNOT_AUDIT when one that is there cannot be read */
  async *poll(): AsyncGenerator<NewLine> {
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
        const tail = known && (await isSame(known, state.size, handle)) ? known : { offset: 0, modified: 0n, lines: new Lines(), head: nothing }
        if (tail.head.length < headBytes) tail.head = await bytesAt(handle, 0, headBytes)
        tail.modified = state.modified
        tails.set(state.identity, tail)
        for await (const bytes of linesFrom(handle, tail)) yield { file, bytes }
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
        // It may come yet, or come back.
        if (codeOf(cause) === 'ENOENT') return []
        throw cannotRead(path, cause)
      }
    }))
    return files.flat()
  }
}

const nothing = Buffer.alloc(0)

const stateOf = async (file: string) => {
  // Numbers of files are longer than a double on some systems.
  const state = await stat(file, { bigint: true }).catch(() => undefined)
  return state?.isFile() === true ? { identity: `${state.dev} ${state.ino}`, size: Number(state.size), modified: state.mtimeNs } : undefined
}

/** False for a file that was cut, and for another one that the system calls the same. */
const isSame = async ({ offset, head }: Tail, size: number, handle: FileHandle): Promise<boolean> =>
  size >= offset && (await bytesAt(handle, 0, head.length)).equals(head)

/** What is missing is being rotated, or was removed because it was old. */
const openIfThere = (file: string): Promise<FileHandle | undefined> =>
  open(file).catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') return undefined
    throw cannotRead(file, cause)
  })

const cannotRead = (path: string, cause: unknown): CustomsError => new CustomsError('CANNOT_AUDIT', `${path}: cannot be read (${codeOf(cause)})`, { cause })

const reading = async (file: string, use: (handle: FileHandle) => Promise<void>): Promise<void> => {
  const handle = await openIfThere(file)
  try {
    if (handle !== undefined) await use(handle)
  } finally {
    await handle?.close()
  }
}

async function* linesFrom(handle: FileHandle, tail: Tail): AsyncGenerator<Uint8Array> {
  for (;;) {
    const bytes = await bytesAt(handle, tail.offset, piece)
    if (bytes.length === 0) return
    tail.offset += bytes.length
    yield* tail.lines.take(bytes)
  }
}

const lastLineEnd = async (handle: FileHandle, size: number): Promise<number> => {
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - piece)
    const at = (await bytesAt(handle, start, end - start)).lastIndexOf(0x0a)
    if (at >= 0) return start + at + 1
    end = start
  }
  return 0
}

const bytesAt = async (handle: FileHandle, position: number, length: number): Promise<Buffer> => {
  const buffer = Buffer.alloc(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await handle.read(buffer, read, length - read, position + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return buffer.subarray(0, read)
}
