/**
 * Members that there are not are errors of the compiler, wherever the library takes or gives any. Nothing here is run: `make check`
 * fails when a line compiles that should not.
 */
import { openHost } from '../../../control/index.ts'

export const misspelt = async (): Promise<void> => {
  // @ts-expect-error -- dataDir
  await openHost({ dataDirectory: '/x' })
  // @ts-expect-error -- standbyAfterMs
  const host = await openHost({ dataDir: '/x', standbyAfter: 1 })
  const { create, update, exec, get, processes, drives, watch, ports } = host.sandboxes
  // @ts-expect-error -- name
  await create({ nmae: 'x' })
  // @ts-expect-error -- a number
  await create({ memoryMb: '2' })
  // @ts-expect-error -- lifecycle
  await create({ spec: { lifecycel: {} } })
  // @ts-expect-error -- ports
  await create({ spec: { runtime: { port: [] } } })
  // @ts-expect-error -- labels
  await update('x', { lables: {} })
  // @ts-expect-error -- labels
  await update('x', { metadata: { lables: {} } })
  // @ts-expect-error -- memory
  await update('x', { spec: { runtime: { memry: 512 } } })
  // @ts-expect-error -- stdin
  await exec('x', { command: 'a', stdn: 'b' })
  // @ts-expect-error -- command
  await exec('x', { comand: 'a' })
  const one = await get('x')
  // @ts-expect-error -- no such status
  if (one.status === 'DEPLOYD') return
  // @ts-expect-error -- no such state
  if (one.state === 'SLEEPING') return
  // @ts-expect-error -- metadata
  if (one.metdata) return
  // @ts-expect-error -- memory
  if (one.spec.runtime.memry) return
  // @ts-expect-error -- restartOnFailure
  await processes('x').start({ command: 'a', restartOnFailur: true })
  // @ts-expect-error -- mountPath
  await drives('x').mount({ driveName: 'a', mountPth: '/x' })
  // @ts-expect-error -- ignore
  watch('x', '/', { ignor: [] })
  // @ts-expect-error -- method
  await ports('x').fetch(3000, '/', { metod: 'GET' })
  // What is written right compiles.
  await exec('x', { command: ['ls', '-l'], stdin: 'x', maxOutput: 10 })
  await update('x', { metadata: { labels: { a: 'b' } }, spec: { runtime: { memory: 512, ports: [{ target: 3000 }] } } })
}
