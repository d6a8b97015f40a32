import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { clockOf, dayOf } from '../units.js'

interface CardProps {
  readonly title: string
  readonly note?: string | undefined
  readonly id?: string
  /** Shown to the right of the title. */
  readonly tools?: ComponentChildren
  readonly children: ComponentChildren
}

export const Card = ({ title, note, id, tools, children }: CardProps) => (
  <section class="card" {...(id !== undefined && { id })}>
    <div class="card-head">
      <h2>{title}</h2>
      {note !== undefined && <p class="note">{note}</p>}
      {tools}
    </div>
    {children}
  </section>
)

/** Stands for a value that is not known. */
export const dash = () => <span class="zero">–</span>

/** A time of day, with the whole date as its tooltip. */
export const When = ({ time, seconds = false }: { readonly time: number; readonly seconds?: boolean }) => {
  const iso = new Date(time).toISOString()
  return (
    <time dateTime={iso} title={iso}>
      <span class="day">{dayOf(time).slice(5)}</span> {clockOf(time).slice(0, seconds ? 8 : 5)}
    </time>
  )
}

/** A text that can be copied: a command, or a longer one in lines. */
export const Copied = ({ text, label = text }: { readonly text: string; readonly label?: string }) => {
  const code = useRef<HTMLElement>(null)
  const [said, say] = useState('')
  const copy = () => {
    // Pages of another machine, without TLS, have no clipboard.
    const select = () => {
      if (code.current) getSelection()?.selectAllChildren(code.current)
      say('selected')
    }
    if (isSecureContext) navigator.clipboard.writeText(text).then(() => say('copied'), select)
    else select()
  }
  const isBlock = text.includes('\n')
  return (
    <span class="copied">
      {isBlock ? <pre><code ref={code}><bdi>{text}</bdi></code></pre> : <code ref={code}>{text}</code>}
      {' '}<button type="button" onClick={copy} aria-label={`Copy ${label}`}>Copy</button>
      {' '}<span role="status">{said}</span>
    </span>
  )
}

interface Subject {
  readonly server: string
  readonly tool?: string | undefined
}

/** A step that the reader can take. In its commands, between backquotes, SERVER and TOOL are replaced. */
const Step = ({ text, server, tool = '' }: Subject & { readonly text: string }) => {
  // A name that a shell could misread is left to the reader.
  const named = [['SERVER', server], ['TOOL', tool]].reduce((all, [word = '', name = '']) =>
    (/^\w[\w.@-]{0,127}$/.test(name) ? all.replace(word, name) : all), text)
  return (
    <>{named.split('`').map((part, index) =>
      (index % 2 === 0 ? part : <Copied key={index} text={part} />))}</>
  )
}

/** What the reader can do. */
export const Steps = ({ next, ...subject }: Subject & { readonly next: readonly string[] }) => {
  if (next.length === 0) return null
  return (
    <>
      <h3>What you can do</h3>
      <ul class="steps">{next.map(step => <li key={step}><Step text={step} {...subject} /></li>)}</ul>
    </>
  )
}

export interface Column<Row> {
  readonly name: string
  readonly cell: (row: Row) => ComponentChildren
  /** The value to sort rows by: numbers descending, texts ascending. */
  readonly by: (row: Row) => number | string
  readonly kind?: 'number' | 'bar' | 'text' | 'long'
}

interface SortableProps<Row> {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Rows that are shown until the reader asks for all. */
  readonly few: number
  /** A note on rows that are left out. */
  readonly left?: string | undefined
  readonly isMarked?: (row: Row) => boolean
}

/** A table that can be sorted by its columns; only the first rows are shown at first. */
export const Sortable = <Row,>(props: SortableProps<Row>) => {
  const { caption, columns, rows, keyOf, few, left, isMarked } = props
  const [order, setOrder] = useState<{ readonly column: number; readonly isReversed: boolean }>()
  const [isAll, setAll] = useState(false)
  const by = order && columns[order.column]?.by
  const sign = order?.isReversed === true ? -1 : 1
  const sorted = by === undefined ? rows : [...rows].sort((a, b) => compare(by(a), by(b)) * sign)
  const sort = (column: number) =>
    setOrder(before => ({ column, isReversed: before?.column === column && !before.isReversed }))
  const direction = { 'aria-sort': sign === -1 ? 'ascending' : 'descending' } as const
  return (
    <>
      <div class="scroll">
        <table>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ name, kind = 'text' }, index) => (
                <th key={name} scope="col" class={kind} {...(index === order?.column && direction)}>
                  <button type="button" onClick={() => sort(index)}>{name}</button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(isAll ? sorted : sorted.slice(0, few)).map(row => (
              <tr key={keyOf(row)} class={isMarked?.(row) === true ? 'marked' : ''}>
                {columns.map(({ name, cell, kind = 'text' }) => <td key={name} class={kind}>{cell(row)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > few && (
        <button type="button" class="more" onClick={() => setAll(!isAll)}>
          {isAll ? `Show ${few}` : `Show all ${rows.length}`}
        </button>
      )}
      {left !== undefined && <p class="note">{left}</p>}
    </>
  )
}

const compare = (a: number | string, b: number | string): number =>
  (typeof a === 'number' && typeof b === 'number' ? b - a : String(a).localeCompare(String(b)))

interface AsTableProps {
  readonly caption: string
  readonly head: readonly string[]
  /** Called when the reader opens the table. */
  readonly rows: () => readonly (readonly string[])[]
}

/** The numbers of a chart, also for screen readers. */
export const AsTable = ({ caption, head, rows }: AsTableProps) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="as-table" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
          <table>
            <caption class="unseen">{caption}</caption>
            <thead>
              <tr>
                {head.map((name, index) => (
                  <th key={name} scope="col" class={index === 0 ? '' : 'number'}>{name}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows().map(([first, ...rest]) => (
                <tr key={first}>
                  <th scope="row">{first}</th>
                  {rest.map((cell, index) => <td key={index} class="number">{cell}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  )
}
