export const checkMutations = (named: string | undefined): Promise<void> => Promise.reject(new Error(`no ${named}`))
