import cluster from 'node:cluster'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Configuration } from '../config/configuration.js'
import { CustomsError } from '../errors.js'
import type { Failure, PrimaryCalls, Role, WorkerCalls } from './calls.js'
import { Channel, type Message } from './channel.js'
import { Holders } from './holders.js'
import { roleVariable } from './role.js'

export interface WorkersOptions {
  readonly count: number
  /** The address that they share. */
  readonly listen: Configuration['listen']
  readonly warn: (message: string) => void
  /** They cannot go on: the whole is to end. */
  readonly failed: (error: Error) => void
  /** What workers have for the live page. */
  readonly records: (records: readonly object[]) => void
  /** A worker is gone, by its number. */
  readonly gone: (number: number) => void
  /** Starts one (a process of this cluster). */
  readonly fork?: (role: Role) => Forked
}

/** A worker's process, as the primary one has it. */
export interface Forked {
  readonly process: { readonly pid?: number | undefined; kill(signal: 'SIGKILL'): boolean }
  send(message: object): unknown
  on(event: string, listener: (...given: never[]) => void): unknown
}

interface Member {
  readonly number: number
  readonly process: Forked
  readonly channel: Channel<WorkerCalls>
  readonly begunAt: number
  /** How often the configuration had been read again when it began: what is read later it has to be told. */
  readonly reloads: number
  isReady: boolean
  /** Why it could not begin, or not end well, in its own words. */
  failure: Error | undefined
}

/** Who ends so soon, in milliseconds, has not lived; so many in a row are no accident. */
const shortMs = 5000
const mostShort = 5
/** Longest wait, in milliseconds, for what one that hangs does not answer: those that reach servers to answer have the time for it. */
const longestAskMs = 4000
/** Between two attempts at most, in milliseconds. */
const longestPauseMs = 30_000

/** The processes that share the address, started and replaced; what is known of their sessions, they know. */
export class Workers {
  readonly #options: WorkersOptions
  readonly #folder = folderOfSockets()
  readonly #members = new Map<number, Member>()
  readonly #holders = new Holders(() => this.#ready())
  #short = 0
  #hurries = 0
  #failed = false
  #failure: Error | undefined
  /** Attempts to begin that failed, one after the other. */
  #attempts = 0
  #url: string | undefined
  #isStarted = false
  /** How often the configuration was read again. */
  #reloads = 0
  #started: (url: string) => void = () => undefined
  #settle: () => void = () => undefined
  /** Rejects with what the first that failed at its end has said. */
  readonly #ended = new Promise<void>((resolve, reject) => (this.#settle = () => (this.#failure ? reject(this.#failure) : resolve())))

  constructor(options: WorkersOptions) {
    this.#options = options
  }

  /** Resolves with where they listen when all of them do; never, when one cannot. */
  start(): Promise<string> {
    for (let number = 1; number <= this.#options.count; number += 1) this.#fork(number)
    return new Promise(resolve => (this.#started = resolve))
  }

  /** Of each that accepts connections: its number, and what it answers; those that end meanwhile, or hang, are left out. */
  async ask<Name extends 'servers' | 'counted'>(name: Name): Promise<ReadonlyMap<number, Awaited<ReturnType<WorkerCalls[Name]>>>> {
    const answers = await Promise.allSettled(this.#ready().map(async member => ({ member, answer: await member.channel.call(name, undefined, longestAskMs) })))
    const heard = answers.flatMap(answer => (answer.status === 'fulfilled' ? [answer.value] : []))
    // Who has answered and ended since has been told of as gone: it is not told of again.
    return new Map(heard.filter(({ member }) => this.#members.get(member.number) === member).map(({ member, answer }) => [member.number, answer]))
  }

  /** Each reads the configuration again. @throws Error what one of them has against it */
  async reload(): Promise<void> {
    this.#reloads += 1
    await Promise.all(this.#ready().map(({ channel }) => channel.call('reload', undefined)))
  }

  /** Has them end. @param urgency 1 is polite; each more is in more of a hurry */
  async stop(urgency: number): Promise<void> {
    for (; this.#hurries < urgency; this.#hurries += 1) for (const member of this.#members.values()) hurry(member)
    this.#endIfLast()
    await this.#ended
  }

  /** Ends what does not by itself. */
  kill(): void {
    for (const { process } of this.#members.values()) process.process.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #ready(): readonly Member[] {
    return [...this.#members.values()].filter(({ isReady }) => isReady)
  }

  #fork(number: number): void {
    const { count, listen, fork = forked } = this.#options
    const process = fork({ number, count, folder: this.#folder, listen })
    const calls: PrimaryCalls = {
      ready: url => this.#readied(member, url),
      failed: failure => {
        member.failure = errorOf(failure)
      },
      whose: session => this.#holders.whose(number, session),
      records: records => this.#options.records(records),
    }
    const channel = new Channel<WorkerCalls>(message => void process.send(message), calls)
    const member: Member = { number, process, channel, begunAt: performance.now(), reloads: this.#reloads, isReady: false, failure: undefined }
    this.#members.set(number, member)
    process.on('message', (message: Message) => channel.heard(message))
    process.on('error', (error: Error) => {
      // One that was never born has no exit; that the pipe of another breaks is told by its own.
      if (process.process.pid !== undefined) return
      member.failure = error
      this.#gone(member, error.message)
    })
    process.on('exit', (code: number | null, signal: string | null) => this.#gone(member, signal || `exit code ${code}`))
    for (let told = 0; told < this.#hurries; told += 1) hurry(member)
  }

  #readied(member: Member, url: string): void {
    member.isReady = true
    this.#attempts = 0
    this.#url ??= url
    if (member.reloads < this.#reloads) reloadAgain(member, this.#options.warn)
    if (this.#ready().length < this.#options.count) return
    this.#isStarted = true
    this.#started(this.#url)
  }

  #gone(member: Member, how: string): void {
    const { number, process, channel, begunAt, failure } = member
    this.#members.delete(number)
    channel.close()
    this.#options.gone(number)
    if (this.#hurries > 0 || this.#failed) {
      this.#failure ??= failure
      return this.#endIfLast()
    }
    if (failure) return this.#cannotBegin(number, failure)
    this.#short = performance.now() - begunAt < shortMs ? this.#short + 1 : 0
    if (this.#short >= mostShort) return this.#fail(new CustomsError('CANNOT_START', `workers end as soon as they are started: ${mostShort} in a row, the last by ${how}`))
    this.#options.warn(`worker ${number} (process ${process.process.pid}) has ended by ${how}: its sessions are over, and another takes its place`)
    this.#fork(number)
  }

  /** What stands in its way, such as a file that is being edited, may go away; as long as others serve, nobody is in a hurry. */
  #cannotBegin(number: number, failure: Error): void {
    if (!this.#isStarted || this.#ready().length === 0) return this.#fail(failure)
    const pauseMs = Math.min(1000 * 2 ** this.#attempts, longestPauseMs)
    this.#attempts += 1
    this.#options.warn(`worker ${number} cannot be started, which is tried again: ${failure.message}`)
    setTimeout(() => {
      if (this.#hurries === 0 && !this.#failed) this.#fork(number)
    }, pauseMs).unref()
  }

  #fail(error: Error): void {
    if (this.#failed) return
    this.#failed = true
    this.#options.failed(error)
  }

  #endIfLast(): void {
    if (this.#members.size > 0) return
    rmSync(this.#folder, { recursive: true, force: true })
    this.#settle()
  }
}

const forked = (role: Role): Forked => cluster.fork({ [roleVariable]: JSON.stringify(role) })

const folderOfSockets = (): string => {
  try {
    return mkdtempSync(join(tmpdir(), 'mcp-customs-'))
  } catch (cause) {
    throw new CustomsError('CANNOT_START', `workers: no folder for their sockets can be made in ${tmpdir()}, which TMPDIR may name`, { cause })
  }
}

const hurry = ({ channel }: Member): void => void channel.call('hurry', undefined).catch(() => undefined)

const reloadAgain = ({ channel, number, process }: Member, warn: (message: string) => void): void =>
  void channel.call('reload', undefined).catch((error: unknown) => {
    warn(`worker ${number} has not read the configuration again, and is replaced: ${String(error)}`)
    process.process.kill('SIGKILL')
  })

const errorOf = ({ code, message }: Failure): Error => (code === undefined ? new Error(message) : new CustomsError(code, message))
