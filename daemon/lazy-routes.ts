import type { Bound, Route } from '../shared/route.ts'

/**
 * Binds declared routes to handlers that are loaded when one of them is first asked for, so that what is rarely used
 * costs no memory before. `load` gives the bound routes of the room; a failed load is tried again.
 */
export const lazyRoutes = (
  routes: readonly { readonly id: string }[],
  load: () => Promise<readonly Bound[]>,
): Bound[] => {
  let loading: Promise<readonly Bound[]> | undefined
  const loaded = (): Promise<readonly Bound[]> => {
    loading ??= load().catch(error => {
      loading = undefined
      throw error
    })
    return loading
  }
  return routes.map(route => ({
    route: route as Route,
    run: async (input, context) => {
      const bound = (await loaded()).find(candidate => candidate.route.id === route.id)
      if (!bound) throw new Error(`nothing answers ${route.id}`)
      return bound.run(input, context)
    },
  }))
}
