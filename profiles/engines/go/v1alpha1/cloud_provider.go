// Package v1alpha1 names the cloud provider as the profile API does.
package v1alpha1

// CloudProvider is no plain string: templates have to convert it before they give it to a function of strings.
type CloudProvider string
