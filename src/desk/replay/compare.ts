import type { Frame } from '#relay/protocol/frame.js'
import type { Verdict } from '#relay/core/vocabulary.js'
import type { CapturedDecision } from '#relay/capture/line.js'
import { type Course, type ReplayMessage, textOfMessage } from './replay.js'

/** The part of a decision that is printed. */
export interface JudgedMessage {
  readonly verdict: Verdict
  readonly rules: readonly string[]
}

/** A decision that the replay makes differently. */
export interface ReplayChange {
  readonly session: string
  readonly time: string
  readonly event: string
  readonly tool: string | undefined
  readonly id: string | number | undefined
  /** Undefined when there was, or would be, no decision. */
  readonly was: JudgedMessage | undefined
  readonly would: JudgedMessage | undefined
}

/** A message that the replay changes, drops or adds. */
export interface Rewritten {
  readonly session: string
  readonly to: ReplayMessage['to']
  /** The method, or `answer` for a response. */
  readonly what: string
  readonly id: string | undefined
  /** In bytes; undefined when the message was not, or would not be, sent. */
  readonly was: number | undefined
  readonly would: number | undefined
}

export interface ReplayDifference {
  readonly changes: readonly ReplayChange[]
  readonly rewritten: readonly Rewritten[]
  /** All bytes and all decisions are the same, in the same order. */
  readonly same: boolean
}

export const compare = (session: string, was: Course, would: Course): ReplayDifference => {
  const decisions =
    paired(was.decisions, would.decisions, ({ event, tool, id }) => JSON.stringify([event, tool, id]))
  const changes = decisions.filter(([a, b]) => spelt(a) !== spelt(b)).map(([a, b]): ReplayChange => {
    const { time = '', event = '', tool, id } = a ?? b ?? {}
    return { session, time, event, tool, id, was: a && inShort(a), would: b && inShort(b) }
  })
  const rewritten = paired(was.messages, would.messages, named)
    .filter(([a, b]) => a === undefined || b === undefined || textOfMessage(a) !== textOfMessage(b))
    .map(([a, b]): Rewritten => {
      const { to = 'client', frame } = a ?? b ?? {}
      return {
        session, to, what: whatOf(frame), id: idOf(frame), was: a?.frame.bytes.length,
        would: b?.frame.bytes.length,
      }
    })
  const orderOf = ({ messages, decisions }: Course) =>
    [...messages.map(textOfMessage), ...decisions.map(spelt)].join('\n')
  const inOrder = orderOf(was) === orderOf(would)
  return { changes, rewritten, same: inOrder && changes.length === 0 && rewritten.length === 0 }
}

const spelt = (decision: CapturedDecision | undefined): string =>
  decision === undefined
    ? ''
    : JSON.stringify([decision.event, decision.tool, decision.id, decision.verdict, decision.findings])

const inShort = ({ verdict, findings }: CapturedDecision): JudgedMessage =>
  ({ verdict, rules: [...new Set(findings.map(({ rule }) => rule))] })

const named = ({ to, exchange, frame }: ReplayMessage): string =>
  JSON.stringify([to, exchange, whatOf(frame), idOf(frame)])

const whatOf = (frame: Frame | undefined): string => {
  const message = frame?.message
  if (message === undefined) return ''
  if (message.kind === 'request' || message.kind === 'notification') return message.method
  return message.kind === 'result' || message.kind === 'error' ? 'answer' : message.kind
}

const idOf = (frame: Frame | undefined): string | undefined => {
  const message = frame?.message
  return message !== undefined && 'key' in message ? message.key : undefined
}

/** Pairs items of the same name, in order. */
const paired = <One>(
  was: readonly One[], would: readonly One[], nameOf: (one: One) => string,
): readonly (readonly [One | undefined, One | undefined])[] => {
  const left = new Map<string, One[]>()
  for (const one of would) {
    const name = nameOf(one)
    const those = left.get(name)
    if (those === undefined) left.set(name, [one])
    else those.push(one)
  }
  const pairs = was.map(one => [one, left.get(nameOf(one))?.shift()] as const)
  return [...pairs, ...[...left.values()].flat().map(one => [undefined, one] as const)]
}
