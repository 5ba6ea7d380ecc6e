export const originalDestination = (_socket: unknown): { address: string; port: number } | undefined => undefined
