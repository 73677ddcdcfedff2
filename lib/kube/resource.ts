/** The kinds of objects the program asks an apiserver for: where they live and how they are decoded. */
import { readEndpointSlice as readEndpointSliceJson } from "./json/endpoint_slice.ts";
import { readNamespace as readNamespaceJson } from "./json/namespace.ts";
import { readNode as readNodeJson } from "./json/node.ts";
import { readServiceCIDR as readServiceCIDRJson } from "./json/service_cidr.ts";
import { readService as readServiceJson } from "./json/service.ts";
import type { ApiObject, EndpointSlice, Namespace, Node, Service, ServiceCIDR } from "./objects.ts";
import { readEndpointSlice } from "./protobuf/endpoint_slice.ts";
import { readNamespace } from "./protobuf/namespace.ts";
import { readNode } from "./protobuf/node.ts";
import type { Reader } from "./protobuf/reader.ts";
import { readServiceCIDR } from "./protobuf/service_cidr.ts";
import { readService } from "./protobuf/service.ts";

/** One kind of object. */
export interface Resource<T extends ApiObject> {
  /** The API's plural, also the label of metrics. */
  readonly name: string;
  /** Such as `/api/v1`. */
  readonly groupPath: string;
  /** Nothing but metadata is read, so nothing else is asked for. */
  readonly metadataOnly: boolean;
  /** From the whole message in the reader. */
  readonly readProtobuf: (reader: Reader) => T;
  /** From parsed JSON that nobody has checked yet. */
  readonly readJson: (value: unknown) => T;
}

export const services: Resource<Service> = {
  name: "services",
  groupPath: "/api/v1",
  metadataOnly: false,
  readProtobuf: readService,
  readJson: (value) => readServiceJson(value),
};

export const endpointSlices: Resource<EndpointSlice> = {
  name: "endpointslices",
  groupPath: "/apis/discovery.k8s.io/v1",
  metadataOnly: false,
  readProtobuf: readEndpointSlice,
  readJson: (value) => readEndpointSliceJson(value),
};

export const nodes: Resource<Node> = {
  name: "nodes",
  groupPath: "/api/v1",
  metadataOnly: false,
  readProtobuf: readNode,
  readJson: (value) => readNodeJson(value),
};

export const serviceCIDRs: Resource<ServiceCIDR> = {
  name: "servicecidrs",
  groupPath: "/apis/networking.k8s.io/v1",
  metadataOnly: false,
  readProtobuf: readServiceCIDR,
  readJson: (value) => readServiceCIDRJson(value),
};

export const namespaces: Resource<Namespace> = {
  name: "namespaces",
  groupPath: "/api/v1",
  metadataOnly: true,
  readProtobuf: readNamespace,
  readJson: (value) => readNamespaceJson(value),
};
