import type { Comparison } from '../inspect/diff-report.js'
import { CustomsError } from '../errors.js'
import { nothingAccepted } from '../lock/accept.js'
import { compare, type Catalogue } from '../lock/compare.js'
import { equal } from '../protocol/json.js'
import { settledIdentity } from './lock-identity.js'
import { readLockFile, writeLock, type LockFile } from './lock-file.js'

/** The lock files of one run, and what each is to hold once that is accepted. */
export class Drafts {
  readonly #drafts = new Map<string, Draft>()

  /** @throws CustomsError BAD_CONFIG */
  async of(file: string): Promise<Draft> {
    const draft = this.#drafts.get(file) ?? new Draft(file, await readLockFile(file))
    this.#drafts.set(file, draft)
    return draft
  }

  get changed(): readonly Draft[] {
    return [...this.#drafts.values()].filter(({ isChanged }) => isChanged)
  }
}

export class Draft {
  readonly #proposed = new Map<string, Catalogue>()
  #isChanged = false

  /** @param locked undefined where there is no such file */
  constructor(readonly file: string, readonly locked: LockFile | undefined) {}

  get isChanged(): boolean {
    return this.#isChanged
  }

  /** What was accepted of a server before. */
  before(name: string): Catalogue | undefined {
    return this.locked?.lock.get(name)
  }

  /**
   * @param target the server, in the operator's words
   * @returns in what it differs from what was accepted
   * @throws CustomsError BAD_CONFIG where another server of that name is to be locked in the same file
   */
  propose(name: string, target: string, listed: Catalogue): Comparison {
    const offered = { ...listed, identity: settledIdentity(this.before(name)?.identity ?? {}, listed.identity) }
    const other = this.#proposed.get(name)
    if (other !== undefined && !equal(other.identity, offered.identity)) {
      throw new CustomsError('BAD_CONFIG', `${name}: another server of this name is locked in ${this.file}: give one of them a lock of its own`)
    }
    this.#proposed.set(name, offered)
    const changes = compare(this.before(name) ?? nothingAccepted, offered)
    // A server without anything to compare is new all the same.
    this.#isChanged ||= changes.length > 0 || this.before(name) === undefined
    return { before: this.file, after: `${name} (${target})`, changes, incomparable: [] }
  }

  /** @throws CustomsError BAD_CONFIG */
  async write(): Promise<void> {
    await writeLock(this.file, this.locked?.bytes, new Map([...(this.locked?.lock ?? []), ...this.#proposed]))
  }
}
