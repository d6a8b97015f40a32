/**
 * How published kinds of secrets begin; what follows is letters, digits, `_` and `-`. The issuers document them, and secret scanners
 * (gitleaks' default rules, GitHub's secret scanning) look for the same.
 */
export const secretPrefixes: readonly string[] = [
  // Models
  'sk-', 'sk_', 'gsk_', 'xai-', 'hf_', 'pplx-', 'r8_', 'nvapi-', 'tvly-',
  // Code, packages, images
  'ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-', 'gldt-', 'glrt-', 'glptt-', 'glcbt-', 'glsoat-', 'glimt-', 'glagent-', 'glffct-',
  'ATATT3', 'ATCTT3', 'ATBB', 'npm_', 'pypi-', 'rubygems_', 'dckr_pat_', 'dckr_oat_', 'CLOJARS_', 'AKCp', 'sgp_', 'lin_api_', 'lin_oauth_',
  'ntn_', 'figd_', 'PMAK-', 'rdme_', 'shpat_', 'shpca_', 'shppa_', 'shpss_',
  // Clouds and what runs there
  'AIza', 'ya29.', 'GOCSPX-', 'dop_v1_', 'doo_v1_', 'dor_v1_', 'hvs.', 'hvb.', 'hvr.', 'pul-', 'dapi', 'dp.pt.', 'dp.st.', 'fo1_', 'fm1_', 'fm2_',
  'HRKU-', 'pscale_tkn_', 'pscale_pw_', 'pscale_oauth_', 'sbp_', 'sb_secret_', 'tskey-', 'nfp_',
  // Watching
  'glsa_', 'glc_', 'sntrys_', 'sntryu_', 'NRAK-', 'NRII-', 'phx_',
  // Messages and mail
  'xoxa-', 'xoxb-', 'xoxc-', 'xoxd-', 'xoxe-', 'xoxe.', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-', 'xapp-', 'SG.', 'xkeysib-', 'xsmtpsib-', 'pat-na1-', 'pat-eu1-',
  // Money
  'rk_', 'rk-', 'pk_live_', 'pk_test_', 'whsec_', 'sq0atp-', 'sq0csp-', 'EAAA', 'shippo_live_', 'shippo_test_', 'duffel_live_', 'FLWSECK_TEST-',
  // Keys themselves
  'AGE-SECRET-KEY-', 'ops_eyJ',
]
