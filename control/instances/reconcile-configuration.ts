/**
 * Tells the daemon of one instance what its record says by now; one that sleeps is told when it wakes. In a loop of its own: what a daemon
 * takes to answer is nobody else's time, whose machines are to start and to go meanwhile.
 */
import type { Reconcile } from '../reconcile/loop.ts'
import type { Context } from './context.ts'

export const reconcileConfiguration =
  ({ store, standby, configurer }: Context): Reconcile =>
  async id => {
    const instance = await store.instances.get(id)
    if (instance?.status !== 'running' || !configurer.isDue(instance)) return undefined
    const release = await standby.hold(id)
    try {
      await configurer.ensure(instance)
    } finally {
      release()
    }
    return undefined
  }
