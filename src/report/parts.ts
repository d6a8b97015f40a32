import type { GroupSummary, Summary } from './summary.js'

/** A summary in pieces, by name: only those that have changed are sent. */
export type Parts = ReadonlyMap<string, unknown>

const ofServer = 'server '

export const partsOf = ({ servers, all, held, sessions, offers, ...head }: Summary): Parts =>
  new Map<string, unknown>([
    ['head', { ...head, servers: servers.map(({ server }) => server) }],
    ['all', all],
    ['held', held],
    ['sessions', sessions],
    ['offers', offers],
    ...servers.map(group => [`${ofServer}${group.server ?? ''}`, group] as const),
  ])

/** @returns undefined while a piece is missing */
export const summaryOf = (parts: Parts): Summary | undefined => {
  const head = parts.get('head') as (Omit<Summary, 'servers'> & { readonly servers: readonly string[] }) | undefined
  if (head === undefined) return undefined
  const [all, held, sessions, offers] = ['all', 'held', 'sessions', 'offers'].map(name => parts.get(name))
  const servers = head.servers.flatMap(name => {
    const group = parts.get(`${ofServer}${name}`)
    return group === undefined ? [] : [group as GroupSummary]
  })
  return { ...head, servers, ...({ all, held, sessions, offers } as Pick<Summary, 'all' | 'held' | 'sessions' | 'offers'>) }
}
