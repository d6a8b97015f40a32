export const checkMutations = (_: string | undefined): Promise<void> => Promise.resolve()
