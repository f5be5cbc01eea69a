/** Where a secret is kept: a file relative to the secrets folder, or an environment variable. */
export type SecretRef = { file: string } | { env: string };

/** The secret's text without surrounding white space. Throws ConfigError when it is missing or empty. */
export function resolveSecret(ref: SecretRef, secretsDir: string): string {
  void ref;
  void secretsDir;
  throw new Error('not implemented');
}

/** Bearer tokens of the internal API by caller name, from `internal-tokens.json`. Throws ConfigError. */
export function loadInternalTokens(secretsDir: string): Record<string, string> {
  void secretsDir;
  throw new Error('not implemented');
}

/** The HMAC master secret, from `hmac.key` (base64, 32 bytes). Throws ConfigError. */
export function loadHmacSecret(secretsDir: string): Buffer {
  void secretsDir;
  throw new Error('not implemented');
}
