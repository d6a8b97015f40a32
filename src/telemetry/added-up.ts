/** What one process counted, as prom-client tells it. */
export type Snapshot = readonly object[]

/** What several processes count, as one: sums; and of what is ready, the least. Those that end leave their counts behind, so that no counter goes back. */
export interface AddedUp {
  /** @param now of each process that runs, by its number; of one that is missing, what it said last counts */
  text(now: ReadonlyMap<number, Snapshot>): Promise<string>
  /** The process of this number has ended: what it was last known to have counted stays. */
  retire(number: number): void
}

export const addedUp = async (): Promise<AddedUp & { readonly contentType: string }> => {
  const { AggregatorRegistry, Registry } = await import('prom-client')
  const sum = (snapshots: readonly Snapshot[]) => AggregatorRegistry.aggregate(snapshots.map(snapshot => [...snapshot]))
  const last = new Map<number, Snapshot>()
  let left: Promise<Snapshot> = Promise.resolve([])
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    text: async now => {
      for (const [number, snapshot] of now) last.set(number, snapshot)
      return sum([...last.values(), await left]).metrics()
    },
    retire: number => {
      const snapshot = last.get(number)
      last.delete(number)
      if (snapshot) left = left.then(before => sum([before, snapshot.filter(isKept)]).getMetricsAsJSON())
    },
  }
}

/** A gauge tells what is, not what was. */
const isKept = (metric: object): boolean => !('type' in metric && metric.type === 'gauge')
