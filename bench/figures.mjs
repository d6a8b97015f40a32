// Numbers of many.
export const sorted = values => Float64Array.from(values).sort()
/** @param share from 0 to 1 */
export const quantile = (values, share) => sorted(values)[Math.max(0, Math.ceil(values.length * share) - 1)]
export const median = values => {
  const all = sorted(values)
  return (all[(all.length - 1) >> 1] + all[all.length >> 1]) / 2
}
export const least = values => Math.min(...values)

/** Three digits, or as many as there are before the point. */
export const shown = value => {
  if (value === undefined || Number.isNaN(value)) return '-'
  return Math.abs(value) >= 100 || value === 0 ? value.toFixed(0) : value.toPrecision(Math.abs(value) < 0.1 ? 2 : 3)
}

/** A table in Markdown. */
export const table = (head, rows) => [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
