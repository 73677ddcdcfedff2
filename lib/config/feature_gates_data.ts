/**
 * Every feature gate of Kubernetes 1.37.0, of all its components: clusters hand one list of gates to
 * each of them, so each must know them all. Facts printed by the registry of the release.
 */
import type { GateStage } from "./known_gates.ts";

/** Gates that are alike, their names separated by white space. */
export interface GateGroup {
  readonly stage: GateStage;
  readonly default: boolean;
  readonly locked: boolean;
  readonly names: string;
}

/** Sorted by stage, then by name. */
export const gateGroups: readonly GateGroup[] = [
  {
    stage: "ALPHA",
    default: false,
    locked: false,
    names: `
      APIServerWebhookAuthenticationToken APIServingWithRoutine AllAlpha
      AtomicWriteVolumeUserFields CBORServingAndStorage CPUManagerPolicyAlphaOptions
      CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
      CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
      CompositePodGroup ConsistentListFromCacheSkipTimeoutFallback ContainerStopSignals
      ControllerManagerReleaseLeaderElectionLockOnExit CrossNamespaceVolumeDataSource
      DRADerivedAttributes DRADeviceCompatibilityGroups DRAListTypeAttributes
      DRANodeAllocatableResources DRAOptionalNodeOperations DRAPartitionableDevicesType
      DRAResourcePoolStatus DefaultPodSysctls EmptyDirVolumeMode EventedPLEG EvictionRequestAPI
      GRPCContainerProbeTLS H2CContainerProbe ImageVolumeWithDigest
      InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
      InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScalingSchedulerPreemption
      InterPodAffinityHostnameFastPath KubeProxyNFTablesLocalhostNodePorts
      KubeletAllocatedPodsEndpoint LoggingAlphaOptions MutablePVNodeAffinity
      NodeLifecycleConditions PodGroupPreemptionPolicy PodLogsQuerySplitStreams QOSReserved
      ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SchedulerPreQueueingHints
      ShardedListAndWatch StatefulSetRecreateStrategy StorageVersionAPI
      TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
      TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeBindMountOptions
      WindowsCPUAndMemoryAffinity WorkloadWithJob
    `,
  },
  {
    stage: "BETA",
    default: true,
    locked: false,
    names: `
      APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth
      AllowUnsafeMalformedObjectDeletion AtomicFIFO AuthorizePodWebsocketUpgradeCreatePermission
      CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
      ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation ClientsAllowTLSCacheGC
      ComponentFlagz ComponentStatusz ConcurrentWatchObjectDecode ConstrainedImpersonation
      ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity
      DRADeviceBindingConditions DRAPartitionableDevices
      DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout
      DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency
      EnvFiles EtcdRangeStream ExcludeAdmissionWebhookVirtualResources ExtendWebSocketsToKubelet
      GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAGeneration
      HPAOptimizedSelectorStore HPAScaleToZero HugepageAwareEviction InOrderInformersBatchProcess
      InPlacePodLevelResourcesVerticalScaling KubeletCrashLoopBackOffMax
      KubeletEnsureSecretPulledImages KubeletInUserNamespace KubeletSeparateDiskGC
      KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
      ManifestBasedAdmissionControlConfig MatchLabelKeysInPodTopologySpread
      MatchLabelKeysInPodTopologySpreadSelectorMerge MaxUnavailableStatefulSet MemoryQoS
      MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
      NFTablesNetlink NativeHistograms NodeControllerLeaseCircuitBreaker
      NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching
      PersistentVolumeClaimUnusedSinceTime PodDeletionCost PodLevelResources
      PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass
      PodTopologyLabelsAdmission PodsAPI PortForwardWebsockets ReloadKubeletClientCAFile
      ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus
      ResourceHealthStatusMessage RestartAllContainersOnContainerExits
      RotateKubeletServerCertificate SchedulerAsyncPreemption SchedulerPopFromBackoffQ
      ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
      StaleControllerConsistencyDaemonSet StaleControllerConsistencyHPA
      StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
      StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison
      StorageCapacityScoring StorageVersionHash StrictIPCIDRValidation
      StructuredAuthenticationConfigurationEgressSelector
      StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
      TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
      UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
      UnlockWhileProcessingFIFO VolumeLimitScaling WatchList WatchListClient WatchListCompression
      WebhookRoundTripLoadBalancing WindowsGracefulNodeShutdown
    `,
  },
  {
    stage: "BETA",
    default: false,
    locked: false,
    names: `
      AllBeta CoordinatedLeaderElection DRAFractionalCapacityRange DRAWorkloadResourceClaims
      GenericWorkload LocalStorageCapacityIsolationFSQuotaMonitoring PodAndContainerStatsFromCRI
      PodLevelResourceManagers SchedulerAsyncAPICalls
    `,
  },
  {
    stage: "GA",
    default: true,
    locked: true,
    names: `
      CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets
      CustomResourceFieldSelectors DRAAdminAccess DRAExtendedResource DRAPrioritizedList
      DRAResourceClaimDeviceStatus DeclarativeValidation DisableAllocatorDualWrite
      DynamicResourceAllocation ExecProbeTimeout ExternalServiceAccountTokenSigner
      HPAConfigurableTolerance HostnameOverride ImageMaximumGCAge ImageVolume InOrderInformers
      InPlacePodVerticalScaling InPlacePodVerticalScalingInitContainers JobManagedBy
      KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI
      KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing
      MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator MutableCSINodeAllocatableCount
      NFTablesProxyMode NodeDeclaredFeatures NodeInclusionPolicyInPodTopologySpread NodeLogQuery
      NodeSwap PLEGOnDemandRelist PodObservedGenerationTracking PodReadyToStartContainersCondition
      PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType
      RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedEnvironmentVariableValidation
      RelaxedServiceNameValidation SELinuxChangePolicy SELinuxMountReadWriteOncePod
      SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
      ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo
      SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport
      VolumeAttributesClass WatchCacheInitializationPostStartHook WinDSR WinOverlay
    `,
  },
  {
    stage: "GA",
    default: true,
    locked: false,
    names: `
      AllowServiceExternalIPs ClusterTrustBundle ClusterTrustBundleProjection
      CustomCPUCFSQuotaPeriod DRADeviceTaintRules DRADeviceTaints InformerResourceVersion
      MutatingAdmissionPolicy PodCertificateRequest SELinuxMount StorageVersionMigrator
    `,
  },
  {
    stage: "DEPRECATED",
    default: true,
    locked: true,
    names: `
      AggregatedDiscoveryRemoveBetaType DisableCPUQuotaWithExclusiveCPUs
      DisableNodeKubeProxyVersion
    `,
  },
  {
    stage: "DEPRECATED",
    default: true,
    locked: false,
    names: `
      KubeProxyIPVS KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping
      StorageNamespaceIndex
    `,
  },
  {
    stage: "DEPRECATED",
    default: false,
    locked: true,
    names: `
      AllowOverwriteTerminationGracePeriodSeconds DeclarativeValidationTakeover
      GitRepoVolumeDriver SeparateCacheWatchRPC
    `,
  },
  {
    stage: "DEPRECATED",
    default: false,
    locked: false,
    names: `
      AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
      ChangeContainerStatusOnKubeletRestart KMSv1 KubeletRegistrationGetOnExistsOnly
      WindowsHostNetwork
    `,
  },
];

/** `Gate: the gates that must be on for it`, one a line. */
export const gateDependencies = `
  ClusterTrustBundleProjection: ClusterTrustBundle
  CompositePodGroup: GenericWorkload TopologyAwareWorkloadScheduling
  DRAAdminAccess: DynamicResourceAllocation
  DRAConsumableCapacity: DynamicResourceAllocation
  DRADerivedAttributes: DynamicResourceAllocation
  DRADeviceBindingConditions: DRAResourceClaimDeviceStatus DynamicResourceAllocation
  DRADeviceCompatibilityGroups: DRAPartitionableDevices DynamicResourceAllocation
  DRADeviceTaintRules: DRADeviceTaints
  DRADeviceTaints: DynamicResourceAllocation
  DRAExtendedResource: DynamicResourceAllocation
  DRAFractionalCapacityRange: DRAConsumableCapacity
  DRAListTypeAttributes: DynamicResourceAllocation
  DRANodeAllocatableResources: DynamicResourceAllocation
  DRAOptionalNodeOperations: DynamicResourceAllocation NodeDeclaredFeatures
  DRAPartitionableDevices: DynamicResourceAllocation
  DRAPartitionableDevicesType: DRAPartitionableDevices DRAResourcePoolStatus DynamicResourceAllocation
  DRAPrioritizedList: DynamicResourceAllocation
  DRAResourceClaimGranularStatusAuthorization: DRAResourceClaimDeviceStatus DynamicResourceAllocation
  DRAResourcePoolStatus: DynamicResourceAllocation
  DRASchedulerFilterTimeout: DynamicResourceAllocation
  DRAWorkloadResourceClaims: DynamicResourceAllocation GenericWorkload
  DeclarativeValidationBeta: DeclarativeValidation
  DeclarativeValidationTakeover: DeclarativeValidation
  DisableAllocatorDualWrite: MultiCIDRServiceAllocator
  EventedPLEG: PLEGOnDemandRelist
  ExtendWebSocketsToKubelet: NodeDeclaredFeatures
  GracefulNodeShutdownBasedOnPodPriority: GracefulNodeShutdown
  H2CContainerProbe: NodeDeclaredFeatures
  ImageVolumeWithDigest: ImageVolume
  InPlacePodLevelResourcesVerticalScaling: InPlacePodVerticalScaling NodeDeclaredFeatures PodLevelResources
  InPlacePodVerticalScalingExclusiveCPUs: InPlacePodVerticalScaling
  InPlacePodVerticalScalingExclusiveMemory: InPlacePodVerticalScaling
  InPlacePodVerticalScalingInitContainers: InPlacePodVerticalScaling NodeDeclaredFeatures
  InPlacePodVerticalScalingMemoryBackedVolumes: InPlacePodVerticalScaling NodeDeclaredFeatures
  InPlacePodVerticalScalingSchedulerPreemption: InPlacePodVerticalScaling
  KubeletAllocatedPodsEndpoint: InPlacePodVerticalScaling
  MatchLabelKeysInPodTopologySpreadSelectorMerge: MatchLabelKeysInPodTopologySpread
  NodeControllerLeaseCircuitBreaker: AtomicFIFO
  PodGroupPreemptionPolicy: GenericWorkload
  PodLevelResourceManagers: PodLevelResources
  PodLevelResourcesFixDefaulting: PodLevelResources
  PodLevelResourcesFixKubeletQOSClass: PodLevelResources
  ProcMountType: UserNamespacesSupport
  ResourceHealthStatus: DynamicResourceAllocation
  ResourceHealthStatusMessage: ResourceHealthStatus
  RestartAllContainersOnContainerExits: ContainerRestartRules NodeDeclaredFeatures
  ServiceAccountTokenNodeBinding: ServiceAccountTokenNodeBindingValidation
  StaleControllerConsistencyDaemonSet: AtomicFIFO
  StaleControllerConsistencyHPA: AtomicFIFO
  StaleControllerConsistencyJob: AtomicFIFO
  StaleControllerConsistencyReplicaSet: AtomicFIFO
  StaleControllerConsistencyStatefulSet: AtomicFIFO
  StorageVersionAPI: APIServerIdentity
  TopologyAwareWorkloadScheduling: GenericWorkload
  UnknownVersionInteroperabilityProxy: APIServerIdentity
  UserNamespacesHostNetworkSupport: NodeDeclaredFeatures UserNamespacesSupport
  WindowsGracefulNodeShutdown: GracefulNodeShutdown
  WorkloadWithJob: GenericWorkload
`;
