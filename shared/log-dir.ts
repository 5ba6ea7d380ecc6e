/** Where a daemon keeps what processes put out, unless `SANDBOX_LOG_DIR` says otherwise. */
export const defaultLogDir = '/var/log/sandbox-api'
