import type { ComponentChildren } from 'preact'

interface CardProps {
  readonly title: string
  readonly note?: string | undefined
  readonly id?: string
  /** What stands at the right of the title. */
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
