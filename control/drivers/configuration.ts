/** What the daemon of a machine is told of it. */
import { workloadVariables } from '../../shared/guarded-env.ts'
import type { Configuration } from '../../shared/wire/host.ts'
import type { MachineSpec } from './driver.ts'

/** What its memory is bounded to. */
export const boundOf = ({ memoryMb }: Pick<MachineSpec, 'memoryMb'>): { readonly memoryBytes: number } => ({
  memoryBytes: Math.round(memoryMb * 1024 * 1024),
})

export const configurationOf = ({
  env,
  workdir,
  identity,
}: Pick<MachineSpec, 'env' | 'workdir' | 'identity'>): Configuration => ({
  environment: { ...workloadVariables(env), WORKDIR: workdir },
  ...(identity ? { identity } : {}),
})
