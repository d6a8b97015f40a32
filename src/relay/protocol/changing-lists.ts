/** A list whose changes a server reports, where it has announced that. */
export interface ChangingList {
  readonly capability: string
  /** In the filter of `subscriptions/listen` (2026-07-28, SubscriptionFilter). */
  readonly flag: string
  readonly notification: string
}

export const listChanged = (capability: string): string => `notifications/${capability}/list_changed`

export const changingLists: readonly ChangingList[] = ['tools', 'prompts', 'resources'].map(capability =>
  ({ capability, flag: `${capability}ListChanged`, notification: listChanged(capability) }))
