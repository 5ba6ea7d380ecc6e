/** Looks until it is so, at most a minute; throws naming `what`. For what tells nobody when it happens. */
export const until = async (look: () => boolean | Promise<boolean>, what: string): Promise<void> => {
  const end = performance.now() + 60_000
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`waited a minute for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
