import { useEffect, useMemo, useState } from 'preact/hooks'
import type { TimeRange } from '../range.js'
import type { Periods } from '../summary.js'

/** What the reader has chosen to see. It is kept in the fragment of the address, which can be shared. */
export interface Filter {
  readonly server?: string | undefined
  readonly verdict?: string | undefined
  readonly search?: string | undefined
  /** The length in milliseconds of a range that ends now; or else from and to, in milliseconds since 1970. */
  readonly last?: number | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
}

export type FilterChange = (change: Filter) => void

export const useFilter = (): readonly [Filter, FilterChange] => {
  const [fragment, setFragment] = useState(location.hash)
  useEffect(() => {
    const read = () => setFragment(location.hash)
    addEventListener('popstate', read)
    return () => removeEventListener('popstate', read)
  }, [])
  const filter = useMemo(() => filterIn(fragment), [fragment])
  const change = (changed: Filter) => {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries({ ...filter, ...changed })) {
      if (value !== undefined && value !== '') parameters.set(name, String(value))
    }
    const next = `#${parameters.toString()}`
    // Each letter of a search would be a step back.
    if ('search' in changed) history.replaceState(null, '', next)
    else history.pushState(null, '', next)
    setFragment(next)
  }
  return [filter, change]
}

const filterIn = (fragment: string): Filter => {
  const parameters = new URLSearchParams(fragment.slice(1))
  const text = (name: string) => parameters.get(name) ?? undefined
  const number = (name: string) => {
    const value = Number(text(name) ?? NaN)
    return Number.isFinite(value) && Math.abs(value) < 8e15 ? value : undefined
  }
  return {
    server: text('server'), verdict: text('verdict'), search: text('search'),
    last: number('last'), from: number('from'), to: number('to'),
  }
}

/** @param now the end of "the last hour" */
export const rangeOf = (
  { last, from, to }: Filter, { from: first, step, count }: Periods, now: number,
): TimeRange => {
  const begin = last === undefined ? from : now - last
  const index = (time: number) => Math.min(Math.max(Math.floor((time - first) / step), 0), count)
  const start = begin === undefined ? 0 : index(begin)
  const end = to === undefined || last !== undefined ? count : Math.max(start, index(to - 1) + 1)
  return { start, end: Math.min(end, count), isAll: start === 0 && end >= count }
}
