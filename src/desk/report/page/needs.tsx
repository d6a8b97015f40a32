import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Cause, causesOf } from '../causes.js'
import { countsIn, inRange, type TimeRange } from '../range.js'
import type { Summary } from '../summary.js'
import { clockOf, countText, dayOf, wholeNumber } from '../units.js'
import { Copied, Steps, When } from './card.js'
import { faults } from './reason.js'

interface NeedsProps {
  readonly summary: Summary
  readonly server: string | undefined
  readonly range: TimeRange
}

/** Causes that are shown until the reader asks for all. */
const few = 4

/** Says whether anything needs the reader, names the most dangerous cause first, and what answers it. */
export const Needs = ({ summary, server, range }: NeedsProps) => {
  const [isAll, setAll] = useState(false)
  const looked = useLooked(summary)
  const group = summary.servers.find(one => one.server === server) ?? summary.all
  const { all, held } = countsIn(group, range, summary)
  const broken = summary.logs?.filter(({ ok }) => !ok).length ?? 0
  const causes = causesOf(summary, server, range)
  const open = causes.filter(({ isResolved }) => !isResolved)
  const resolved = causes.filter(({ isResolved }) => isResolved)
  const bad = open.filter(({ isBad }) => isBad)
  const isNew = ({ last }: Cause) => looked !== undefined && last > looked
  const news = causes.filter(isNew).length
  const [worst] = bad
  const isBad = broken > 0 || worst !== undefined
  const passed = all === 0 ? 'No call was made'
    : held === 0 ? `None of ${countText(all, 'call')} was held back` : `${countText(all, 'call')}, ${wholeNumber(held)} held back`
  const shown = isAll ? open : open.slice(0, few)
  return (
    <section class={`needs ${isBad ? 'bad' : 'good'}`} aria-label="Does anything need you?">
      <h2>
        {broken > 0 && `${countText(broken, 'log')} of ${summary.logs?.length ?? 0} ${broken === 1 ? 'was' : 'were'} changed. `}
        {worst !== undefined && <><bdi>{worst.name}</bdi> {worst.state}.</>}
        {!isBad && `Nothing needs you. ${passed}.`}
      </h2>
      {(bad.length > 1 || news > 0) && (
        <p>
          {bad.length > 1 && `${countText(bad.length, 'thing')} need you, the most dangerous first. `}
          {news > 0 && `${wholeNumber(news)} new since you looked on ${dayOf(looked ?? 0)} at ${clockOf(looked ?? 0).slice(0, 5)}.`}
        </p>
      )}
      {shown.length > 0 && (
        <ul class="causes">
          {shown.map(cause => (
            <li key={cause.key}><Whole cause={cause} isNew={isNew(cause)} isNamed={cause !== worst} /></li>
          ))}
        </ul>
      )}
      {open.length > few && (
        <button type="button" class="more" onClick={() => setAll(!isAll)}>
          {isAll ? `Show ${few}` : `Show all ${open.length}`}
        </button>
      )}
      {resolved.length > 0 && (
        <details class="resolved">
          <summary>{countText(resolved.length, 'thing')} resolved: {resolved.length === 1 ? 'it has' : 'they have'} not
            {' '}happened again</summary>
          <ul>
            {resolved.map(cause => (
              <li key={cause.key}>
                <b><bdi>{cause.name}</bdi></b> {cause.state}, {cause.times}, last <When time={cause.last} />
                {isNew(cause) && <span class="new">new</span>}
              </li>
            ))}
          </ul>
        </details>
      )}
      {notesOf(summary, server, range).map(note => <p key={note} class="note">{note}</p>)}
    </section>
  )
}

const labels: ReadonlyMap<string, string> =
  new Map([['changed', 'Changed by the server'], ['down', 'The server, or something it needs']])

interface WholeProps {
  readonly cause: Cause
  readonly isNew: boolean
  /** False under a heading that names it. */
  readonly isNamed: boolean
}

const Whole = ({ cause, isNew, isNamed }: WholeProps) => {
  const { server, name, danger, state, times, why, fault, changes, values, next, report, last } = cause
  const { before: old } = cause
  const tool = name.startsWith(`${server}.`) ? name.slice(server.length + 1) : undefined
  // Longer advice is in the row of the message below.
  const steps = next.slice(0, 2)
  return (
    <>
      <p>
        {fault !== undefined && (
          <strong class={`fault ${fault}`}>{labels.get(danger) ?? faults[fault]}</strong>
        )}{' '}
        {isNamed && <><b><bdi>{name}</bdi></b> {state} </>}<small>{times}, last <When time={last} /></small>
        {isNew && <span class="new">new</span>}
      </p>
      {why.map(one => <p key={one} class="why"><bdi>{one}</bdi></p>)}
      {changes.map(({ path, before, after }) => (
        <Beside
          key={path} title={path} old={old} now="What it says now"
          {...(old === undefined ? { before, after } : withMarks(before, after))}
        />
      ))}
      {values.map(({ path, got, declared }) => (
        <Beside
          key={path} title={path} old="Declared" now="What came (redacted)"
          before={declared === '' ? <em>not kept</em> : declared} after={got}
        />
      ))}
      <Steps next={steps} server={server} tool={tool} />
      {report !== undefined && (
        <details class="report">
          <summary>Copy a report for the author</summary>
          <Copied text={report} label="the report" />
        </details>
      )}
    </>
  )
}

interface BesideProps {
  /** Where in the definition or result it is. */
  readonly title: string
  /** Undefined where there is nothing to compare with. */
  readonly old: string | undefined
  readonly now: string
  readonly before: ComponentChildren
  readonly after: ComponentChildren
}

/** Two texts side by side. */
const Beside = ({ title, old, now, before, after }: BesideProps) => (
  <div class="beside">
    <code><bdi>{title}</bdi></code>
    {old !== undefined && <div><h3>{old}</h3><p><bdi>{before}</bdi></p></div>}
    <div><h3>{now}</h3><p><bdi>{after}</bdi></p></div>
  </div>
)

/** Both texts, with the words between their first and last difference marked. */
const withMarks = (before: string | undefined, after: string) => {
  if (before === undefined) return { before: <em>nothing: it is new</em>, after: <ins>{after}</ins> }
  const [one, other] = [before, after].map(text => text.split(/(?<=\s)/))
  const same = (a: readonly string[] = [], b: readonly string[] = []) => {
    const end = a.findIndex((word, index) => word.trimEnd() !== b[index]?.trimEnd())
    return end < 0 ? a.length : end
  }
  const start = same(one, other)
  const end = Math.min(
    same(one?.toReversed(), other?.toReversed()), (one?.length ?? 0) - start, (other?.length ?? 0) - start)
  const parts = (words: readonly string[] = []) =>
    [words.slice(0, start), words.slice(start, words.length - end), words.slice(words.length - end)]
      .map(some => some.join(''))
  const [was, is] = [parts(one), parts(other)]
  return { before: <>{was[0]}<del>{was[1]}</del>{was[2]}</>, after: <>{is[0]}<ins>{is[1]}</ins>{is[2]}</> }
}

/** What nobody has to do anything about, once for each server. */
const notesOf = (
  { offers, noise }: Summary, server: string | undefined, range: TimeRange,
): readonly string[] => {
  const rewritten = new Map<string, number>()
  for (const { server: of, danger, name } of inRange(offers.rows, server, range)) {
    if (danger === 'nothing' && name !== '') rewritten.set(of, (rewritten.get(of) ?? 0) + 1)
  }
  return [
    ...[...rewritten].map(([of, tools]) =>
      `${countText(tools, 'tool')} of ${of} ${tools === 1 ? 'is' : 'are'} rewritten for the client: nothing to do.`),
    ...noise.filter(one => server === undefined || one.server === server).map(({ server: of, lines }) =>
      `${of} printed ${countText(lines, 'line')} to stdout that ${lines === 1 ? 'is no message' : 'are no messages'}. ` +
      'They were dropped, which harms nothing.'),
  ]
}

const visitMs = 30 * 60_000

/**
 * When the reader looked at a page of these logs before this visit, in milliseconds since 1970. The browser
 * keeps it. Loading the page again soon is the same visit.
 */
const useLooked = ({ places, made }: Summary): number | undefined => {
  const key = `looked ${places.join(' ')}`
  const [before] = useState(() => {
    try {
      const [looked = 0, baseline = 0] = JSON.parse(localStorage.getItem(key) ?? '[]') as readonly number[]
      return looked === 0 ? undefined : Date.now() - looked > visitMs ? looked : baseline || undefined
    } catch {
      return undefined
    }
  })
  useEffect(() => {
    try {
      localStorage.setItem(key, JSON.stringify([Date.now(), before ?? 0]))
    } catch {
      // A browser that keeps nothing shows what is new as everything else.
    }
  }, [made])
  return before
}
