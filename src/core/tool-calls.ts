import type { Frame } from '../protocol/frame.js'
import { compareHeaders } from '../protocol/headers.js'
import { isObject, isString, member } from '../protocol/json.js'
import { traitsOf } from '../protocol/revision.js'
import type { Checked, Subject } from './check.js'
import type { Asked, Called, Context } from './context.js'
import { actionOf, isStop } from './policy.js'
import type { Finding } from './rule.js'
import type { RuleName } from './rule-name.js'
import { headerMismatch, isMismatch, refusedCall, unknownTool } from './refusal.js'
import type { ToolLists } from './tool-lists.js'

/** Lists of the relay's own for one call: a server whose list changes faster than it can be read is not waited for. */
const mostLists = 3

/** `tools/call`, from its arrival until it goes to the server. */
export class ToolCalls {
  readonly #context: Context
  readonly #lists: ToolLists

  constructor(context: Context, lists: ToolLists) {
    this.#context = context
    this.#lists = lists
  }

  /**
   * Judges a call; goes on with the answer that refuses it, or with none when it may go to the server.
   * Not at all when the client cancelled it meanwhile.
   */
  judge(asked: Asked, then: (refusal: Frame | undefined) => void): void {
    const name = member(asked.message.params, 'name')
    const call: Called = { name: isString(name) ? name : '', tool: undefined, listed: true }
    asked.call = call
    if (this.#setting(call.name)?.denied === true) return this.#judged(asked, undefined, then)
    this.#declare(asked, call, mostLists, () => {
      this.#check(asked, checked => this.#judged(asked, checked, then))
    })
  }

  #setting(name: string) {
    return this.#context.options.tools.get(name)
  }

  #declare(asked: Asked, call: Called, lists: number, then: () => void): void {
    const found = this.#lists.catalog.lookup(call.name, this.#context.now)
    if (found.state === 'known') call.tool = found.tool
    if (found.state !== 'unknown') return then()
    if (lists === 0) {
      call.listed = false
      return then()
    }
    this.#lists.listAll(asked, listed => {
      if (asked.state === 'cancelled') return
      if (listed) return this.#declare(asked, call, lists - 1, then)
      call.listed = false
      then()
    })
  }

  #check(asked: Asked, then: (checked: Checked | undefined) => void): void {
    const tool = asked.call?.tool
    if (tool === undefined || !this.#counts('call/arguments', 'call/unchecked')) return then(undefined)
    const given = member(asked.message.params, 'arguments')
    const value = given === undefined ? {} : given
    const subject: Subject = { kind: 'value', schema: tool.inputSchema, value, path: '/params/arguments' }
    this.#context.check([subject], ([checked]) => {
      if (asked.state !== 'cancelled') then(checked)
    })
  }

  #judged(asked: Asked, checked: Checked | undefined, then: (refusal: Frame | undefined) => void): void {
    const { name, tool, listed } = asked.call ?? { name: '', tool: undefined, listed: false }
    const given = member(asked.message.params, 'arguments')
    const { revision } = asked.terms
    const denied = this.#setting(name)?.denied === true
    const call = { name, arguments: isObject(given) ? given : undefined, tool, denied, listed, revision, checked }
    asked.findings.push(...headerFindings(asked), ...this.#context.ask('onCall', call, '/params'))
    const { verdict, findings } = this.#context.judge(asked.findings)
    if (!isStop(verdict)) return then(undefined)
    const told = findings.filter(({ rule }) => actionOf(this.#context.options.policy, rule) === verdict)
    if (isMismatch(told)) return then(headerMismatch(asked, told))
    if (told.some(({ rule }) => rule === 'call/unlisted')) return then(unknownTool(asked, name))
    then(refusedCall(asked, name, told, traitsOf(revision).modern))
  }

  /** False when no rule that needs the check would be reported: then it is not made. */
  #counts(...rules: readonly RuleName[]): boolean {
    return rules.some(rule => actionOf(this.#context.options.policy, rule) !== 'off')
  }
}

/** `Mcp-Param-*` headers repeat arguments that the tool's schema names: only here are both known. */
const headerFindings = ({ call, message, request, terms }: Asked): readonly Finding[] => {
  const headers = request.envelope?.headers
  if (headers === undefined || call?.tool === undefined || !traitsOf(terms.revision).modern) return []
  const mismatch = compareHeaders(headers, message, call.tool.inputSchema)
  return mismatch === undefined ? [] : [{ rule: 'wire/http', path: '', message: mismatch }]
}
