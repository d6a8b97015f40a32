import { useState } from 'preact/hooks'

interface AsTableProps {
  readonly caption: string
  readonly head: readonly string[]
  /** Asked for when somebody wants to see them. */
  readonly rows: () => readonly (readonly string[])[]
}

/** What a picture shows, for those who would rather read it, or have it read. */
export const AsTable = ({ caption, head, rows }: AsTableProps) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="as-table" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
          <table>
            <caption class="unseen">{caption}</caption>
            <thead><tr>{head.map((name, index) => <th key={name} scope="col" class={index === 0 ? '' : 'number'}>{name}</th>)}</tr></thead>
            <tbody>{rows().map(([first, ...rest]) => <tr key={first}><th scope="row">{first}</th>{rest.map((cell, index) => <td key={index} class="number">{cell}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )}
    </details>
  )
}
