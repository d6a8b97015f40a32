import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { stripVTControlCharacters } from 'node:util'
import type { Log } from '#relay/audit/log.js'
import type { Audit } from '#relay/audit/audit.js'
import type { Capture } from '#relay/capture/capture.js'
import type {
  AuditConfiguration, Configuration, Limits, ServerConfiguration,
} from '#relay/config/configuration.js'
import { CallRates } from '#relay/core/call-rates.js'
import { noise } from '#relay/core/event.js'
import { actionOf } from '#relay/core/findings.js'
import type { RelayOptions, Ruling } from '#relay/core/options.js'
import { messageOf, pathText } from '#relay/base/errors.js'
import { loadChecker } from '#relay/session/checks.js'
import { ServerHealth } from '#relay/session/health.js'
import type { Recorder } from '#relay/session/hooks.js'
import type { Guard } from '#relay/session/open.js'
import { quote } from '#relay/protocol/quote.js'
import { byteValidatorFailures } from '#relay/protocol/read-fast.js'
import type { Metrics } from '#relay/telemetry/metrics.js'
import type { RelaySettings } from './settings.js'
import { writeBeside } from './serve/audits.js'
import type { ServerSetup } from './server/judgement.js'

/** Receives the events of every session: a capture, or `learn --watch`. */
export interface Witness {
  record(options: RelayOptions, limits: Limits): Recorder
  close(): void
}

interface OpenGuard extends Guard {
  close(): Promise<void>
}

/** What a reload changes for running sessions, which read it at each use; the counts of calls stay. */
export interface CurrentRuling {
  now: Ruling & Pick<AuditConfiguration, 'payloads'>
  readonly rates: CallRates
  readonly count?: Guard['count']
}

export const rulingOf = (
  { judgement: { ruling } }: ServerSetup, { audit: { payloads } }: Configuration,
): CurrentRuling['now'] => ({ ...ruling, payloads })

/** Where decisions are recorded. */
interface Witnesses {
  readonly audit: Audit
  readonly log: Log
  readonly metrics: Metrics
  readonly observe: Guard['observe']
  readonly witness: Witness | undefined
  readonly health?: ServerHealth
}

/** Most of the last stderr lines of a server that are recorded; colours and stack frames are left out. */
const maxLines = 10
const lastWords = (lines: readonly string[]): readonly string[] =>
  lines.map(line => stripVTControlCharacters(line)).filter(line => !/^\s+at /.test(line)).slice(-maxLines)

/** Records when a server fails, and when it works again. */
export const healthOf = (
  { name: server, ...kind }: ServerConfiguration,
  { audit, log, metrics }: Pick<Witnesses, 'audit' | 'log' | 'metrics'>,
): ServerHealth =>
  new ServerHealth((health, reason, stderr) => {
    metrics.serverHealth(server, health)
    // The end of a process is logged by its owner.
    if (stderr === undefined) log[health === 'restored' ? 'info' : 'warn'](`${server}: ${reason}`)
    writeBeside({ audit, log, metrics }, {
      event: 'server/health', from: 'relay', server, session: '', client: undefined, revision: undefined,
      verdict: 'log', findings: [], health, reason, stderr: stderr && lastWords(stderr),
    })
  }, 'command' in kind)

/** A recorder that fails is dropped: the session continues. */
const expendable = (recorder: Recorder, log: Log): Recorder => {
  let isLost = false
  const attempt = (act: () => void): void => {
    if (isLost) return
    try {
      act()
    } catch (error) {
      isLost = true
      log.warn(`what was written down of a session ends here: ${messageOf(error)}`)
    }
  }
  return {
    asked: isLate => attempt(() => recorder.asked(isLate)),
    handled: (event, now, effects) => attempt(() => recorder.handled(event, now, effects)),
  }
}

/** Counts the failures of the byte validator, and logs the first. @returns a function that stops this */
export const watchByteValidator = (
  log: Pick<Log, 'warn'>, metrics: Pick<Metrics, 'byteValidatorFailed'>,
): (() => void) => {
  let isLogged = false
  const failed = (error: unknown): void => {
    metrics.byteValidatorFailed()
    if (!isLogged) {
      log.warn(`the byte validator failed, so that results are parsed, which is slower: ${messageOf(error)}`)
    }
    isLogged = true
  }
  subscribe(byteValidatorFailures.name, failed)
  return () => void unsubscribe(byteValidatorFailures.name, failed)
}

/** Opens the guard of one server: its policy, schema checker and records. */
export const openGuard = (
  setup: ServerSetup,
  configuration: Configuration,
  { audit, log, metrics, observe, witness, health }: Witnesses,
  current: CurrentRuling = { now: rulingOf(setup, configuration), rates: new CallRates() },
): OpenGuard => {
  const { server } = setup
  const { limits } = configuration
  const checker = loadChecker(limits)
  return {
    judgement: { ...setup.judgement, rates: current.rates, get ruling() { return current.now } },
    count: current.count,
    eras: setup.translate && {
      translate: setup.translate, limits,
      began: (client, spoken) => log.info(`${server.name}: the client speaks ${client} and the server ${spoken}: ` +
        'their messages are translated (docs/eras.md)'),
      leftOut: tool => {
        const message = 'runs as a task only, which the client\'s revision does not have: it is left out'
        log.warn(`${server.name}: ${quote(tool)} ${message}`)
        writeBeside({ audit, log, metrics }, {
          event: 'tools/list', from: 'relay', server: server.name, session: '', client: undefined,
          revision: undefined, tool, verdict: 'mend',
          findings: [{ rule: 'tool/profile', path: '/result/tools', message }],
        })
      },
    },
    checker,
    observe,
    health,
    prepare: entry => audit.prepare(entry, current.now.payloads),
    audit: entry => {
      const flush = audit.add(entry, current.now.payloads)
      log.decision(entry)
      for (const { rule } of entry.findings) {
        metrics.found(server.name, rule, entry.reason === noise ? 'noise' : actionOf(current.now.policy, rule))
      }
      return flush
    },
    failed: cause => {
      metrics.coreFailed(server.name)
      log.warn(`the relay failed on a message of ${server.name}, which was answered by an error: ` +
        messageOf(cause))
    },
    record: witness && (options => expendable(witness.record(options, limits), log)),
    close: () => checker.close(),
  }
}

/**
 * Opens the file that `--capture` names.
 * @throws CustomsError CANNOT_AUDIT
 */
export const captureOf = async (
  { capture: file }: Pick<RelaySettings, 'capture'>, configuration: Configuration,
): Promise<Capture | undefined> => {
  if (file === undefined) return undefined
  const { openCapture } = await import('#relay/capture/capture.js')
  return openCapture(file, payloadsOf(configuration), say)
}

/** Prints what is captured, for the operator. */
export const tellOfCapture = (
  { capture: file }: Pick<RelaySettings, 'capture'>, configuration: Configuration,
): void => {
  if (file === undefined) return
  say('keeping every message with its ' +
    `payload${payloadsOf(configuration) === 'full' ? '' : ', without what looks like a secret,'} in ` +
    pathText(file))
}

const payloadsOf = ({ audit }: Configuration) => (audit.payloads === 'full' ? 'full' : 'redacted')

const say = (message: string): void => {
  process.stderr.write(`mcp-customs: ${message}\n`)
}
