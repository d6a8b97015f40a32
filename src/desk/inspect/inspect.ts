import type { Entry, Policy } from '#relay/core/vocabulary.js'
import { actionOf } from '#relay/core/findings.js'
import { settingOf } from '#relay/core/options.js'
import { badUsage, CustomsError } from '#relay/base/errors.js'
import { Meter } from '#relay/protocol/json.js'
import { quote } from '#relay/protocol/quote.js'
import { nearest, type Revision } from '#relay/protocol/revisions/index.js'
import { isRecord, isString, type DataObject, field } from '#relay/protocol/unmetered.js'
import type { Profile } from '#relay/profiles/profile.js'
import { isAnnotated } from '#relay/rules/definition.js'
import { type RuleName, ruleNamed } from '#relay/rules/index.js'
import type { ServerResponse } from './client.js'
import { connect, type Connected, type ConnectOptions } from './connect.js'
import type { InspectedTool, Inspection, Weighed } from './inspection.js'
import { type InspectLink, type LinkOptions, openLink, watching } from './link.js'
import { type Item, listEverything, type Lists } from './lists.js'
import { plain } from '#relay/base/plain.js'
import { profiled } from './profiles.js'
import type { Saved } from './saved.js'

interface InspectOptions extends ConnectOptions, Omit<LinkOptions, 'policy'> {
  /** True when the operator gave the server its name. */
  readonly isNamed: boolean
  /** Gives each finding its action. */
  readonly policy: Policy
  readonly saved: Saved | undefined
  /** The tools are checked against these as well. */
  readonly profiles?: readonly Profile[]
  /** A tool to call, once everything is listed. */
  readonly call: ToCall | undefined
  /** What is being done, for somebody who waits. */
  readonly progress: (doing: string) => void
  /** A connection was opened: to be closed when the inspection is interrupted. */
  readonly opened: (link: InspectLink) => void
}

export interface ToCall {
  readonly tool: string
  readonly arguments: DataObject
}

/**
 * Connects once, lists everything, calls a tool where one is named, and judges all of it. A list
 * that could not be read says why in its `problem`.
 * @throws CustomsError CANNOT_START, CANNOT_REACH, CANNOT_AUDIT, or BAD_USAGE for a call of a tool that is
 * denied or not listed
 */
export const inspect = async (options: InspectOptions): Promise<Inspection> => {
  const { name, isNamed, target, policy, tools: settings, trusted, saved, call, timeoutMs, progress } =
    options
  // A denied tool is not left out of the list here: it is shown as denied.
  const tools = new Map(
    [...settings].map(([tool, setting]) => [tool, { ...setting, denied: false, annotations: undefined }]),
  )
  const links: InspectLink[] = []
  const open = () => {
    const link = openLink({ ...options, tools, policy: watching(policy) })
    links.push(link)
    options.opened(link)
    return link
  }
  try {
    progress('connecting')
    const connected = await connect(open, options)
    progress('listing')
    const lists = await listEverything(connected, timeoutMs)
    const response = call && (await make(call, connected, lists, options))
    await connected.link.close()
    const { entries } = connected.link
    const findings = weighFindings(entries, policy, lists.tools.items, nearest(connected.revision))
    const inspected = inspectedTools(lists.tools.items, findings, options)
    return {
      name, isNamed, target, trusted, saved, connected, lists, findings,
      more: entries.reduce((sum, { more = 0 }) => sum + more, 0),
      tools: inspected,
      profiles: profiled(inspected, options.profiles ?? [], name),
      annotations: {
        tools: lists.tools.items.filter(({ value }) => isRecord(value)
          && isAnnotated(value, new Meter())).length,
        kept: trusted || ['off', 'log'].includes(actionOf(policy, 'tool/annotations')),
      },
      call: call && { ...call, response, findings: findings.filter(({ event }) => event === 'tools/call') },
    }
  } finally {
    await Promise.all(links.map(link => link.close()))
  }
}

/** @returns undefined when the tool may be in the part of the list that could not be had */
const make = async (
  { tool, arguments: given }: ToCall, { link, params }: Connected, lists: Lists, options: InspectOptions,
): Promise<ServerResponse | undefined> => {
  const { name, timeoutMs, progress } = options
  if (settingOf(options, tool)?.denied === true) {
    return badUsage(`--call ${JSON.stringify(tool)}: the configuration denies this tool`)
  }
  if (!lists.tools.items.some(item => toolName(item) === tool)) {
    if (lists.tools.problem !== undefined) return undefined
    const there = lists.tools.items.map(item => plain(toolName(item))).slice(0, 20).join(', ')
    return badUsage(
      `--call ${JSON.stringify(tool)}: the server lists no such tool (there is: ${there || 'none'})`,
    )
  }
  progress(`calling ${plain(tool)}`)
  const response =
    await link.client.request('tools/call', { ...params, name: tool, arguments: given }, timeoutMs)
  if (response === undefined) {
    throw new CustomsError('CANNOT_REACH', `${name}: no answer to the call within ${timeoutMs / 1000} s`)
  }
  return response
}

const inspectedTools = (
  items: readonly Item[], findings: readonly Weighed[], options: InspectOptions,
): readonly InspectedTool[] =>
  items.map(item => {
    const name = toolName(item)
    return {
      name,
      definition: isRecord(item.value) ? item.value : undefined,
      denied: settingOf(options, name)?.denied === true,
      findings: findings.filter(finding => finding.item === item),
    }
  })

/**
 * What the relay found, as the operator's policy weighs it.
 * @param tools every tool listed: finds the tool of a finding by page and index
 * @param revision by which the tools were judged
 */
export const weighFindings = (
  entries: readonly Entry[], policy: Policy, tools: readonly Item[], revision: Revision,
): readonly Weighed[] => {
  const listed = new Map(tools.map(item => [`${JSON.stringify(item.request)} ${item.index}`, item]))
  return entries.flatMap(({ event, id, tool, findings }) =>
    findings.flatMap((finding): Weighed[] => {
      const action = actionOf(policy, finding.rule)
      if (action === 'off') return []
      const [, index, within] =
        (event === 'tools/list' && /^\/result\/tools\/(\d+)(.*)/s.exec(finding.path)) || []
      const item = index === undefined ? undefined : listed.get(`${JSON.stringify(id)} ${Number(index)}`)
      const weighed =
        action === 'mend' && item !== undefined && !canMend(finding.rule, item, revision) ? 'block' : action
      return [{
        ...finding, action: weighed, event, tool: item ? toolName(item) : tool, item,
        within: within ?? finding.path,
      }]
    }),
  )
}

/** Whether the mend of this rule works on this tool; if not, a relay blocks it. */
const canMend = (rule: RuleName, { value }: Item, revision: Revision): boolean => {
  const asked = {
    path: '', revision, trusted: false, schemas: [], repeated: false, first: undefined, settled: false,
    denied: false,
  }
  const mended = isRecord(value)
    ? ruleNamed(rule)?.mend?.onTool?.({ sent: value, definition: value, ...asked }, new Meter()) : undefined
  return mended !== undefined
}

/** What an element of the list is called: by its name, or by its place when it has none. */
const toolName = ({ value, request, index }: Item): string => {
  const name = isRecord(value) ? field(value, 'name') : undefined
  return isString(name) ? name : `(element ${index} of page ${quote(String(request))})`
}
